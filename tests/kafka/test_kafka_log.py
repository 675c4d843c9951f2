"""A reader of topics is told what it cannot have, and jumps over nothing."""

import pytest

from tests.event_log.followable import Followable
from verdict.kafka.errors import NotThereYet, RecordsDropped
from verdict.kafka.log import KafkaLog, Span


@pytest.mark.proves("A-02")
@pytest.mark.parametrize("end", [3, None])
def test_what_kafka_has_dropped_is_named_with_what_it_has(
    followable: Followable, end: int | None
) -> None:
    followable.happen(2)
    followable.drop({0: 2})

    with (
        KafkaLog(followable.options) as log,
        pytest.raises(RecordsDropped, match=r":0 was to be read from offset 1, .* from 2") as told,
    ):
        [*log.read([Span(followable.topic, 0, 1, end)])]

    error = told.value
    assert (error.topic, error.partition, error.needed, error.earliest) == (
        followable.topic, 0, 1, 2,
    )  # fmt: skip


def test_nobody_gets_the_beginning_who_asks_for_what_is_not_there_yet(
    followable: Followable,
) -> None:
    followable.happen(1)
    with KafkaLog(followable.options) as log:
        _, end = log.bounds(followable.topic, 0)

        with pytest.raises(NotThereYet, match=f"offset {end + 1}, and Kafka has it up to {end}"):
            next(log.read([Span(followable.topic, 0, end + 1, None)]))

"""A subscriber reads the archive, then Kafka: every event once, in order, from any position."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from compose.configuration.loading import load_settings
from compose.errors import VerdictError
from compose.kafka.log import KafkaLog
from compose.sql.reader import Reader
from compose.subscription import Followed, Place, Subscription, subscribe
from tests.compose.followable import POSITIONS, Followable


@pytest.fixture
def reader(followable: Followable) -> Iterator[Reader]:
    with followable.read_side.reader() as reader:
        yield reader


@pytest.fixture
def log(followable: Followable) -> Iterator[KafkaLog]:
    with KafkaLog(followable.options) as log:
        yield log


def identities(found: list[Followed]) -> list[tuple[str, int]]:
    """Return (position, version) of each, once it is seen that the order is kept."""
    reached: dict[str, int] = {}
    for one in found:
        assert one.event.version > reached.get(one.event.aggregate_id, 0)
        reached[one.event.aggregate_id] = one.event.version
    return sorted((one.event.aggregate_id, one.event.version) for one in found)


def test_every_event_comes_once_across_the_hand_over_though_kafka_dropped_the_old_ones(
    followable: Followable, reader: Reader, log: KafkaLog
) -> None:
    """A-02."""
    followable.happen(3)
    followable.archive()
    followable.drop()
    followable.happen(2)

    found = [*Subscription(reader, log, followable.topics, "position").events(follow=False)]

    assert identities(found) == followable.written
    archived = [one.position for one in found if one.position is not None]
    assert archived == [*range(1, 3 * POSITIONS + 1)]
    assert [one.position for one in found[len(archived) :]] == [None] * (2 * POSITIONS)


@pytest.mark.parametrize("seen", [0, 1, 17, 3 * POSITIONS, 3 * POSITIONS + 5, 5 * POSITIONS])
def test_whoever_keeps_the_places_goes_on_where_they_were(
    followable: Followable, reader: Reader, log: KafkaLog, seen: int
) -> None:
    """A-07."""
    followable.happen(3)
    followable.archive()
    followable.happen(2)
    first = Subscription(reader, log, followable.topics)
    before = [*islice(first.events(follow=False), seen)]
    followable.archive()
    followable.drop()

    then = [
        *Subscription(reader, log, followable.topics, from_position=first.places).events(
            follow=False
        )
    ]

    assert identities([*before, *then]) == followable.written


def test_from_a_global_position_on(followable: Followable, reader: Reader, log: KafkaLog) -> None:
    followable.happen(2)
    followable.archive()

    found = Subscription(reader, log, followable.topics, "position", 20).events(follow=False)

    assert [one.position for one in found] == [*range(21, 2 * POSITIONS + 1)]


def test_the_deployment_is_that_of_the_settings(followable: Followable, tmp_path: Path) -> None:
    followable.happen(2)
    followable.archive()
    followable.happen(1)
    settings = load_settings(
        data_dir=tmp_path,
        bootstrap_servers=followable.options["bootstrap.servers"],
        database_url=followable.read_side.url,
        topic_prefix=followable.topics.prefix,
    )

    with subscribe("position", POSITIONS, settings) as subscription:
        found = [*subscription.events(follow=False)]

    assert len(found) == 2 * POSITIONS
    assert [one.position for one in found[:POSITIONS]] == [*range(POSITIONS + 1, 2 * POSITIONS + 1)]


def test_other_categories_are_passed_over(
    followable: Followable, reader: Reader, log: KafkaLog
) -> None:
    followable.happen(1)
    followable.archive()
    followable.happen(1)

    assert [*Subscription(reader, log, followable.topics, "order").events(follow=False)] == []


def test_what_is_neither_archived_nor_in_kafka_is_named(
    followable: Followable, reader: Reader, log: KafkaLog
) -> None:
    followable.happen(1)
    followable.archive()
    followable.happen(2)
    gone = {n: log.bounds(followable.topic, n)[1] - 1 for n in range(4)}
    followable.drop(gone)

    with pytest.raises(VerdictError, match="what is between is lost"):
        [*Subscription(reader, log, followable.topics).events(follow=False)]


def test_an_empty_archive_is_no_hindrance(
    followable: Followable, reader: Reader, log: KafkaLog
) -> None:
    followable.happen(1)

    found = [*Subscription(reader, log, followable.topics).events(follow=False)]

    assert identities(found) == followable.written
    assert {one.place for one in found} <= {Place(followable.topic, n) for n in range(4)}

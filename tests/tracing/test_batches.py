"""U-05: which batch decided a command, by the markers that come beside the answers."""

from dataclasses import replace

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan

from tests.projection.responses import ACCEPTED
from verdict.exactly_once.marker_feed import Arrived
from verdict.model.source import Source
from verdict.tracing import batches as module
from verdict.tracing.batches import Batches
from verdict.tracing.spans import Recorded, span_of_command
from verdict.wire.marker import Marker
from verdict.wire.records import encode

TOPIC = "order.commands"
TRACE = [("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")]
MS = 1_000_000
BEFORE = Marker(
    query="decider", owner="o", generation=3, query_id=None, batch_id=6, digest=bytes(32),
    offsets={TOPIC: [40, 7]}, shards=1, handler_version="1",
)  # fmt: skip
BATCH = replace(BEFORE, batch_id=7, offsets={TOPIC: [50, 9], "new.commands": [1]})


class Seen:
    """Markers that come when a test says so, and a clock that it moves on."""

    def __init__(self) -> None:
        self.now = 0.0
        self.coming: list[Arrived] = []
        self.batches = Batches(self._arrived, lambda: self.now)

    def _arrived(self) -> list[Arrived]:
        came, self.coming = self.coming, []
        return came

    def come(self, *markers: tuple[Marker, int]) -> list[ReadableSpan]:
        self.coming = [Arrived(*one) for one in markers]
        return [*self.batches.passed()]


def answered(seen: Seen, offset: int, arrived: int = 1_000, at: int = 9_000) -> ReadableSpan:
    """Let a command have an answer, that Kafka got at `at`, in milliseconds."""
    response = ACCEPTED.model_copy(
        update={"source": Source(TOPIC, 0, offset), "decided_at": arrived}
    )
    found = Recorded(Source("order.responses", 0, 1), encode(response), TRACE, at)
    span = span_of_command(found, Resource({}))
    assert span is not None
    seen.batches.wait_for(span)
    return span


@pytest.mark.parametrize(("arrived", "begins"), [(1_000, 4_000), (6_000, 6_000)])
def test_a_command_waited_until_the_batch_before_it_had_ended(arrived: int, begins: int) -> None:
    seen = Seen()
    command = answered(seen, offset=41, arrived=arrived)

    [span] = seen.come((BEFORE, 4_000), (BATCH, 8_000))

    assert span.parent == command.context
    assert (span.start_time, span.end_time) == (begins * MS, 8_000 * MS)
    assert dict(span.attributes or {}) == {
        "verdict.batch.generation": 3, "verdict.batch.id": 7, "verdict.batch.commands": 13,
    }  # fmt: skip
    assert seen.come() == []


def test_a_marker_that_is_seen_after_the_answer_is_waited_for_and_not_for_ever() -> None:
    seen = Seen()
    assert seen.come((BEFORE, 4_000)) == []
    answered(seen, offset=49)
    answered(seen, offset=50)  # of the batch behind
    assert seen.come() == []

    assert len(seen.come((BATCH, 8_000))) == 1
    seen.now += module.PATIENCE_S
    assert seen.come() == []
    later = replace(BATCH, batch_id=8, offsets={TOPIC: [60, 9]})
    assert seen.come((later, 9_500)) == []


@pytest.mark.parametrize(
    "before", [replace(BEFORE, batch_id=5), replace(BEFORE, generation=2)], ids=["gap", "recovery"]
)
def test_nobody_knows_which_batch_it_was_where_a_marker_is_gone(before: Marker) -> None:
    seen = Seen()
    answered(seen, offset=41)

    assert seen.come((before, 4_000), (BATCH, 8_000)) == []


def test_whoever_takes_over_between_two_batches_is_no_batch() -> None:
    seen = Seen()
    answered(seen, offset=41)

    claim = replace(BEFORE, owner="another")
    [span] = seen.come((BEFORE, 3_000), (claim, 5_000), (BATCH, 8_000))

    assert span.start_time == 5_000 * MS


def test_two_clocks_make_no_span_that_ends_before_it_begins() -> None:
    seen = Seen()
    answered(seen, offset=41, arrived=8_500)

    [span] = seen.come((BEFORE, 4_000), (BATCH, 8_000))

    assert span.start_time == span.end_time == 8_000 * MS


def test_the_marker_which_is_written_last_makes_no_span_that_ends_after_the_command_s() -> None:
    seen = Seen()
    command = answered(seen, offset=41, at=8_000)

    [span] = seen.come((BEFORE, 4_000), (BATCH, 8_007))

    assert span.end_time == command.end_time == 8_000 * MS

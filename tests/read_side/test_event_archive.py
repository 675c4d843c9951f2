import json
from collections.abc import Sequence
from hashlib import sha256

import pytest
from hypothesis import HealthCheck, given, settings

from schemas.order import OrderCancelled
from schemas.position import PositionClosed
from tests.application import decode_event, encode_event
from tests.kit.databases import ReadSide, Rows
from tests.kit.log import AN_EVENT, SECOND, START, EventLog, opened
from tests.read_side.accidents import Followed, Step, follow, of_positions, steps
from tests.tiers import examples
from verdict.model.message import iso_time
from verdict.model.recorded_event import RecordedEvent
from verdict.model.source import Source
from verdict.read_side.apply.batch import Delivery, ProjectionBatch
from verdict.read_side.tables import skips
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.skip_record import SkipRecord


@pytest.mark.proves("A-01")
def test_an_event_is_archived_with_all_that_is_known_of_it(
    read_side: ReadSide, log: EventLog
) -> None:
    log.add("p-1", opened("adä"))

    read_side.applier("event_archive").apply(log.batch())

    (delivery,) = log.deliveries
    value = delivery.value
    assert value is not None
    (row,) = read_side.select("SELECT * FROM event_archive")
    position, kind, name, version, event_id, event_type, payload, metadata, *rest = row
    assert (position, kind, name, version, event_type) == (
        1, "position", "p-1", 1, "PositionOpened",
    )  # fmt: skip
    assert rest == [
        value, sha256(value).hexdigest(), *delivery[:3], iso_time(START + SECOND),
        "flow-1",
    ]  # fmt: skip
    event = decode_event("position", rest[0])
    assert (event, event_id) == (delivery.record, event.event_id)
    assert parsed(payload) == {
        "type": "PositionOpened",
        "client": "adä", "ticker": "AAPL", "exchange": "NASDAQ", "amount": 1,
    }  # fmt: skip
    assert parsed(metadata) == {
        "index": 0,
        "count": 1,
        "command_id": "c-1",
        "command_digest": "01" * 32,
        "correlation_id": "flow-1",
        "causation_id": "c-1",
        "actor": None,
        "traceparent": None,
        "source": {"topic": "position.commands", "partition": 0, "offset": 0},
        "handler_version": "1",
        "previous_hash": "",
    }


def parsed(value: object) -> object:
    """Return JSON as it is meant; PostgreSQL's driver has parsed it already."""
    return json.loads(value) if isinstance(value, str) else value


@pytest.mark.proves("A-01")
@pytest.mark.parametrize("at_once", [True, False])
def test_another_event_under_a_version_that_is_there_stops_the_archive(
    read_side: ReadSide, log: EventLog, at_once: bool
) -> None:
    log.add("p-1", opened("ada"))
    first = log.deliveries[0].record
    assert isinstance(first, RecordedEvent)
    applier = read_side.applier("event_archive")
    if not at_once:
        applier.apply(log.batch())

    log.repeat(first._replace(payload=opened("mallory")))
    applier.apply(log.batch())

    assert applier.is_stopped
    ((error,),) = read_side.select("SELECT error FROM projection_stopped")
    assert "version 1 of position 'p-1' came before with other bytes, at " in error
    assert "run `verdict skip position.events:" in error
    assert positions(read_side) == ([] if at_once else [1])


@pytest.mark.proves("A-01", "C-17")
def test_one_that_people_pass_over_gives_way_to_the_other_under_its_version(
    read_side: ReadSide, log: EventLog
) -> None:
    """Whoever wrote the first one: it keeps its position, and what follows comes behind."""
    log.add("p-1", opened("mallory"))
    stray = log.deliveries[0]
    assert isinstance(stray.record, RecordedEvent)
    read_side.applier("event_archive").apply(log.batch())
    log.repeat(stray.record._replace(payload=opened("ada")))
    log.add("p-1", PositionClosed())
    stopped, both = read_side.applier("event_archive"), log.batch()
    stopped.apply(both)
    assert stopped.is_stopped

    place = Source(stray.topic, stray.partition, stray.offset)
    made = SkipRecord(
        source=place, until_offset=place.offset + 1, operator="bea", reason="a stray", decided_at=5
    )
    with read_side.engine.begin() as connection:
        skips.copy(connection, [made])
    read_side.applier("event_archive").apply(both)

    rows = 'SELECT global_position, version, "offset", hash FROM event_archive ORDER BY 1'
    found = read_side.select(rows)
    kept = log.deliveries[1:]
    assert found == [
        (number, number, one.offset, sha256(one.value or b"").hexdigest())
        for number, one in enumerate(kept, 1)
    ]
    assert read_side.select("SELECT * FROM projection_stopped") == []


def test_positions_follow_time_across_topics_and_offsets_within_a_partition(
    read_side: ReadSide,
) -> None:
    def event(topic: str, offset: int, aggregate_id: str, at: int) -> Delivery:
        kind = topic.partition(".")[0]
        payload = OrderCancelled(cause="regret") if kind == "order" else opened("ada")
        record = AN_EVENT._replace(aggregate_type=kind, aggregate_id=aggregate_id, version=1,
            event_id=aggregate_id, decided_at=START + at, payload=payload,
        )  # fmt: skip
        return Delivery(topic, 0, offset, record, encode_event(record))

    deliveries = [
        event("order.events", 0, "at-2", 2),
        event("order.events", 1, "at-9", 9),
        event("order.events", 2, "behind-9", 1),  # of another aggregate, which has its own times
        event("position.events", 0, "at-1", 1),
        event("position.events", 1, "at-5", 5),
    ]
    ends = {
        TopicPartition("order.events", 0): OffsetRange(0, 3),
        TopicPartition("position.events", 0): OffsetRange(0, 2),
    }

    read_side.applier("event_archive").apply(ProjectionBatch(deliveries, ends))

    order = read_side.select("SELECT aggregate_id FROM event_archive ORDER BY global_position")
    assert [name for (name,) in order] == ["at-1", "at-2", "at-5", "at-9", "behind-9"]


def positions(read_side: ReadSide) -> list[int]:
    return [n for (n,) in read_side.select("SELECT global_position FROM event_archive ORDER BY 1")]


class Archived(Followed):
    """The archive only grows, and holds each event once."""

    def __init__(self, read_side: ReadSide) -> None:
        super().__init__(read_side, "event_archive", "position")
        self._before: Rows = []

    def seen(self, events: Sequence[RecordedEvent]) -> Sequence[RecordedEvent]:
        return events  # behind a gap, too

    def check(self, events: Sequence[RecordedEvent]) -> None:
        found = self.read_side.select(
            'SELECT global_position, aggregate_id, version, partition, "offset", value, hash '
            "FROM event_archive ORDER BY global_position"
        )
        assert found[: len(self._before)] == self._before
        assert [row[0] for row in found] == [*range(1, len(found) + 1)]
        wanted = {encode_event(event) for event in events}
        assert sorted(row[5] for row in found) == sorted(wanted)
        assert all(sha256(row[5]).hexdigest() == row[6] for row in found)
        new = found[len(self._before) :]
        for place in self.log.partitions:
            offsets = [row[4] for row in new if row[3] == place.partition]
            assert offsets == sorted(offsets)
        self._before = found


@pytest.mark.proves("A-01")
@pytest.mark.slow
@pytest.mark.both_databases
@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=steps(of_positions, ["p-1", "p-2", "p-3", "p-4"]))
def test_whatever_happens_the_archive_holds_every_event_once(
    read_side: ReadSide, sequence: list[Step]
) -> None:
    follow(Archived(read_side), sequence)

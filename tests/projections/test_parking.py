from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from projections.engine import holding
from projections.engine.applier import Applier
from projections.engine.batch import Batch, Delivery, Partition, Span, Unreadable
from projections.engine.projection import Projection
from projections.missing_events import missing_events
from projections.registry import projections
from projections.us_holder import evolve, us_holder
from schemas.message import iso_time
from schemas.position import PositionAdjusted, PositionClosed, PositionTransferred
from schemas.recorded_event import RecordedEvent
from schemas.topics import Topics
from tests.conftest import NewDatabase
from tests.postgresql import Server
from tests.projections.event_log import TOPIC, EventLog, opened
from tests.projections.read_side import NOW, ReadSide

HELD = "SELECT aggregate_id, version_needed, version_seen, error FROM projection_held"
PARKED = 'SELECT projection, version, topic, partition, "offset", parked_at FROM projection_parked'


@pytest.fixture
def log() -> EventLog:
    return EventLog(partitions=1)


def fails_on(amount: int) -> Projection:
    """Return `us_holder` with a bug."""

    def buggy(row: object, event: RecordedEvent) -> object:
        if event.payload == PositionAdjusted(amount=amount):
            raise ZeroDivisionError("a\0bug")
        return evolve(row, event)  # type: ignore[arg-type]

    return replace(us_holder(), evolve=buggy)  # type: ignore[arg-type]


@pytest.fixture
def buggy(new_database: NewDatabase) -> Iterator[ReadSide]:
    """Return a read side whose `us_holder` fails when an amount becomes 13."""
    others = [p for p in projections() if p.name != "us_holder"]
    read_side = ReadSide(new_database(), [*others, fails_on(13)])
    yield read_side
    read_side.close()


def test_an_aggregate_that_cannot_be_applied_waits_with_the_error_and_the_others_go_on(
    buggy: ReadSide, log: EventLog, caplog: pytest.LogCaptureFixture
) -> None:
    """B-9, H-04: what was applied of it stays to be seen."""
    applier = buggy.applier("us_holder")
    log.add("p-1", opened("bob"))
    applier.apply(log.batch())
    log.add("p-1", PositionAdjusted(amount=13), PositionTransferred(client="cleo"))
    log.add("p-0", opened("ada"))

    applier.apply(log.batch())
    log.add("p-1", PositionClosed())
    log.add("p-2", opened("dora"))
    applier.apply(log.batch())

    assert not applier.stands_still
    assert buggy.holders() == {"ada": 1, "bob": 1, "dora": 1}
    assert buggy.select(HELD) == [
        (
            "p-1", 2, 4,
            "record position.events:0:1: PositionAdjusted, version 2 of position 'p-1': "
            "ZeroDivisionError: a\\0bug",
        )
    ]  # fmt: skip
    assert [r.message.split(": ")[0] for r in caplog.records if r.levelname == "ERROR"] == [
        "projection us_holder v1 parks position p-1 at version 2"
    ]


def test_an_aggregate_that_waits_is_left_alone_until_the_next_start(
    buggy: ReadSide, log: EventLog
) -> None:
    applier = archived(buggy)
    log.add("p-1", opened("bob"), PositionAdjusted(amount=13))
    batch = log.batch()
    buggy.applier("event_archive").apply(batch)
    applier.apply(batch)
    before = buggy.dump()

    assert applier.apply(log.batch()).applied == 0
    assert archived(buggy).apply(log.batch()).applied == 0
    assert buggy.dump() == before


def test_after_the_bug_is_mended_it_goes_on_from_the_archive_in_order(
    buggy: ReadSide, log: EventLog
) -> None:
    applier = archived(buggy)
    changes = PositionAdjusted(amount=13), PositionTransferred(client="cleo")
    log.add("p-1", opened("bob"), *changes, PositionTransferred(client="dora"))
    batch = log.batch()
    buggy.applier("event_archive").apply(batch)
    applier.apply(batch)
    buggy.projections["us_holder"] = us_holder()

    archived(buggy).apply(log.batch())

    assert buggy.select(HELD) == []
    assert buggy.holders() == {"dora": 1}
    assert [(client, kind) for client, kind, _ in buggy.changes()] == [
        ("bob", "entered"), ("bob", "left"), ("dora", "entered"),
    ]  # fmt: skip


def test_with_too_many_aggregates_at_fault_it_is_the_projection_that_is_parked(
    buggy: ReadSide, log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding, "MOST_AT_FAULT", 2)
    applier = buggy.applier("us_holder")
    for name in ("p-1", "p-2"):
        log.add(name, opened("bob"), PositionAdjusted(amount=13))
    applier.apply(log.batch())
    assert buggy.select(PARKED) == []
    log.add("p-3", opened("ada"), PositionAdjusted(amount=13))

    applier.apply(log.batch())

    assert applier.stands_still
    assert buggy.select(PARKED) == [("us_holder", 1, None, None, None, iso_time(NOW))]
    assert buggy.holders() == {"bob": 2}
    ((error,),) = buggy.select("SELECT error FROM projection_parked")
    assert "more than 2 aggregates cannot be applied, the last: record position" in error


def test_what_is_parked_is_left_alone_until_the_next_start(
    read_side: ReadSide, log: EventLog
) -> None:
    applier = read_side.applier("us_holder")
    log.add("p-1", opened("ada"))
    (readable,) = log.deliveries
    bad = readable._replace(record=Unreadable("broken"))
    applier.apply(Batch([bad], {Partition(TOPIC, 0): Span(0, 1)}))
    assert applier.stands_still
    before = read_side.dump()

    assert applier.apply(log.everything()).applied == 0
    assert read_side.dump() == before

    mended = read_side.applier("us_holder")
    assert read_side.select(PARKED) == [("us_holder", 1, TOPIC, 0, 0, iso_time(NOW))]
    mended.apply(log.everything())
    assert read_side.select(PARKED) == []
    assert read_side.holders() == {"ada": 1}


def archived(read_side: ReadSide) -> Applier:
    """Return a new applier that asks the archive, as the service's does."""
    projection = read_side.projections["us_holder"]
    return Applier(read_side.engine, projection, Topics(), lambda: NOW, missing=missing_events)


def test_an_undecodable_record_is_not_skipped(read_side: ReadSide, log: EventLog) -> None:
    log.add("p-1", opened("ada"))
    (readable,) = log.deliveries
    bad = Delivery(TOPIC, 0, 1, Unreadable("Undecodable: schema id 99 is unknown here"))
    applier = read_side.applier("us_holder")

    applier.apply(Batch([bad, readable], {Partition(TOPIC, 0): Span(0, 2)}))

    assert applier.stands_still
    assert read_side.select('SELECT error, topic, partition, "offset" FROM projection_parked') == [
        (
            "record position.events:0:1: not readable: Undecodable: schema id 99 is unknown here",
            TOPIC,
            0,
            1,
        )
    ]
    assert read_side.holders() == {}


def test_a_failure_does_not_stop_the_others(read_side: ReadSide, log: EventLog) -> None:
    bad = Delivery(TOPIC, 0, 0, Unreadable("broken"))
    responses = Partition("position.responses", 0)
    batch = Batch([bad], {Partition(TOPIC, 0): Span(0, 1), responses: Span(0, 1)})
    appliers = {name: read_side.applier(name) for name in read_side.projections}

    for applier in appliers.values():
        applier.apply(batch)

    still = {name for name, applier in appliers.items() if applier.stands_still}
    assert still == {"event_archive", "us_holder"}, "those that follow what is broken"
    assert appliers["outcome"].positions == {responses: 1}


def test_a_row_that_postgresql_cannot_index_parks_the_projection(
    postgresql: Server, log: EventLog
) -> None:
    with postgresql.database() as url:
        read_side = ReadSide(url)
        applier = read_side.applier("us_holder")
        incompressible = "".join(map(chr, Random(1).choices(range(0x4E00, 0x9000), k=4000)))
        log.add("p-1", opened(incompressible))

        applier.apply(log.batch())

        assert applier.stands_still
        (error,) = read_side.select("SELECT error FROM projection_parked")
        assert "index row requires 12024 bytes, maximum size is 8191" in error[0]
        read_side.close()

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from projections.engine.batch import Batch, Delivery, Partition, Span, Unreadable
from projections.engine.projection import Projection
from projections.registry import projections
from projections.us_holder import evolve, us_holder
from schemas.message import iso_time
from schemas.position import PositionAdjusted
from schemas.recorded_event import RecordedEvent
from tests.conftest import NewDatabase
from tests.postgresql import Server
from tests.projections.event_log import TOPIC, EventLog, opened
from tests.projections.read_side import NOW, ReadSide

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


def test_a_projection_that_fails_is_parked_with_the_error_and_the_place(
    buggy: ReadSide, log: EventLog
) -> None:
    applier = buggy.applier("us_holder")
    log.add("p-0", opened("ada"))
    applier.apply(log.batch())
    log.add("p-1", opened("bob"), PositionAdjusted(amount=13))

    applier.apply(log.batch())

    assert applier.stands_still
    assert buggy.select(PARKED) == [("us_holder", 1, TOPIC, 0, 2, iso_time(NOW))]
    assert buggy.select("SELECT error FROM projection_parked") == [
        (
            "record position.events:0:2: PositionAdjusted, version 2 of position 'p-1': "
            "ZeroDivisionError: a\\0bug",
        )
    ]
    assert buggy.holders() == {"ada": 1}
    assert applier.positions == {Partition(TOPIC, 0): 1}


def test_what_is_parked_is_left_alone(buggy: ReadSide, log: EventLog) -> None:
    applier = buggy.applier("us_holder")
    log.add("p-1", opened("bob"), PositionAdjusted(amount=13))
    applier.apply(log.batch())
    before = buggy.dump()
    log.add("p-2", opened("ada"))

    assert applier.apply(log.batch()).applied == 0
    assert buggy.dump() == before


def test_after_the_bug_is_mended_it_catches_up_from_its_own_position(
    buggy: ReadSide, log: EventLog
) -> None:
    log.add("p-1", opened("bob"), PositionAdjusted(amount=13))
    buggy.applier("us_holder").apply(log.batch())
    buggy.projections["us_holder"] = us_holder()

    mended = buggy.applier("us_holder")
    assert buggy.select(PARKED) != []
    mended.apply(log.everything())

    assert buggy.select(PARKED) == []
    assert buggy.holders() == {"bob": 1}


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

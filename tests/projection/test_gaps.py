import logging

import pytest

from schemas.position import PositionAdjusted, PositionClosed, PositionTransferred
from tests.projection.event_log import EventLog, opened
from tests.projection.read_side import NOW, ReadSide, Rows
from verdict.model.message import iso_time

HELD = "SELECT projection, aggregate_type, aggregate_id, version_needed, version_seen, found_at"


def held(read_side: ReadSide) -> Rows:
    return read_side.select(f"{HELD} FROM projection_blocked ORDER BY aggregate_id")


@pytest.fixture(autouse=True)
def _alarms(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)


@pytest.mark.proves("A-05")
def test_an_event_behind_a_gap_is_held_and_reported(
    read_side: ReadSide, log: EventLog, caplog: pytest.LogCaptureFixture
) -> None:
    log.add("p-1", opened("ada"))
    log.add_unseen("p-1", PositionTransferred(client="bob"))
    log.add("p-1", PositionTransferred(client="cleo"))
    log.add("p-2", opened("dora"))

    applied = read_side.applier("us_holder").apply(log.batch())

    assert applied.applied == 2
    assert read_side.holders() == {"ada": 1, "dora": 1}
    assert held(read_side) == [("us_holder", "position", "p-1", 2, 3, iso_time(NOW))]
    assert caplog.messages == [
        "projection us_holder v1 holds position p-1: it needs version 2 and has seen 3; "
        "the others go on"
    ]


def test_later_events_of_a_held_aggregate_are_held_too_and_the_alarm_comes_once(
    read_side: ReadSide, log: EventLog, caplog: pytest.LogCaptureFixture
) -> None:
    applier = read_side.applier("us_holder")
    log.add_unseen("p-1", opened("ada"))
    log.add("p-1", PositionAdjusted(amount=2))
    applier.apply(log.batch())
    log.add("p-1", PositionAdjusted(amount=3))

    applier.apply(log.batch())

    assert read_side.holders() == {}
    assert held(read_side) == [("us_holder", "position", "p-1", 1, 3, iso_time(NOW))]
    assert len(caplog.messages) == 1


@pytest.mark.proves("A-05")
def test_a_hold_ends_when_all_that_was_missing_has_come(read_side: ReadSide, log: EventLog) -> None:
    applier = read_side.applier("us_holder")
    log.add("p-1", opened("ada"))
    missing = log.add_unseen("p-1", PositionTransferred(client="bob"))
    log.add("p-1", PositionAdjusted(amount=2), PositionAdjusted(amount=3))
    applier.apply(log.batch())
    later = log.events(log.ends)[1:]

    log.repeat(missing)
    log.repeat(later[0])
    applier.apply(log.batch())
    assert held(read_side) == [("us_holder", "position", "p-1", 4, 4, iso_time(NOW))]
    assert read_side.holders() == {"bob": 1}

    log.repeat(later[1])
    applier.apply(log.batch())
    assert held(read_side) == []


def test_a_gap_that_closes_within_its_batch_is_none(read_side: ReadSide, log: EventLog) -> None:
    log.add("p-1", opened("ada"))
    late = log.add_unseen("p-1", PositionTransferred(client="bob"))
    closed = log.add_unseen("p-1", PositionClosed())
    for event in (closed, late, closed):
        log.repeat(event)

    read_side.applier("us_holder").apply(log.batch())

    assert held(read_side) == []
    assert read_side.holders() == {}


def test_events_of_one_batch_are_applied_in_the_order_of_their_versions(
    read_side: ReadSide, log: EventLog, caplog: pytest.LogCaptureFixture
) -> None:
    log.add("p-1", opened("ada"))
    late = log.add_unseen("p-1", PositionTransferred(client="bob"))
    log.add("p-1", PositionAdjusted(amount=2), PositionTransferred(client="cleo"))
    for event in (log.events(log.ends)[-1], late, late):
        log.repeat(event)

    applied = read_side.applier("us_holder").apply(log.batch())

    assert (applied.applied, applied.skipped) == (4, 2)
    assert held(read_side) == []
    assert caplog.messages == []
    assert read_side.changes() == [("cleo", "entered", "p-1")]

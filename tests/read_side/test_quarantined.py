"""C-17: projections keep the rows of a quarantined aggregate, and show that it waits."""

from dataclasses import replace

import pytest

from tests.kit.databases import ReadSide
from tests.kit.log import EventLog, opened
from verdict.model.source import Source
from verdict.operations.status.read_side_status import QUARANTINED
from verdict.read_side.tables import skips, source_topics
from verdict.wire.skip_record import DamagedAggregate, Kind, SkipRecord

pytestmark = [pytest.mark.both_databases, pytest.mark.proves("C-17")]

DAMAGED = DamagedAggregate("position", "p-1", 2, 3, "version 3 follows version 1\0")
MADE = SkipRecord(
    source=Source("position.events", 0, 7),
    until_offset=7,
    operator="ada",
    reason="the disk is gone",
    decided_at=5,
    kind=Kind.QUARANTINED,
    aggregate=DAMAGED,
)
HELD = (
    "SELECT projection, projection_version, aggregate_type, aggregate_id, version_needed, "
    "version_seen, error FROM projection_blocked ORDER BY projection"
)
SHOWN = (
    "SELECT aggregate_type, aggregate_id, version, error, topic, "
    '"partition", "offset", operator, reason FROM aggregate_quarantined'
)


def decide(read_side: ReadSide, *decisions: SkipRecord) -> None:
    """Copy what was decided, as each start of the projections does."""
    follows = {
        name: ["position.events"] for name in ("event_archive", "us_holder", "position_state")
    }
    with read_side.engine.begin() as connection:
        source_topics.note_followed(connection, follows | {"order_state": ["order.events"]})
        skips.copy_quarantines(connection, decisions)


def test_a_quarantined_aggregate_waits_in_all_that_follow_it_and_keeps_its_rows(
    read_side: ReadSide, log: EventLog
) -> None:
    log.add("p-1", opened("ada"))
    read_side.applier("us_holder").apply(log.batch())

    decide(read_side, MADE)

    error = "its history is damaged, so it is quarantined: version 3 follows version 1\\0"
    row = "position", "p-1", 2, 3, error
    assert read_side.select(HELD) == [("position_state", 1, *row), ("us_holder", 1, *row)]
    assert read_side.select(SHOWN) == [
        ("position", "p-1", 2, "version 3 follows version 1\\0", "position.events", 0, 7, "ada",
         "the disk is gone")
    ]  # fmt: skip
    assert read_side.select("SELECT client FROM us_holder") == [("ada",)]
    [(count, *first)] = read_side.select(QUARANTINED)
    assert (count, first[:3]) == (1, ["position", "p-1", 2])


def test_one_without_any_event_waits_in_all_that_would_follow_its_events(
    read_side: ReadSide,
) -> None:
    decide(read_side, replace(MADE, source=Source("position.responses", 0, 3)))

    assert [row[0] for row in read_side.select(HELD)] == ["position_state", "us_holder"]


def test_a_quarantine_that_is_lifted_is_shown_no_more(read_side: ReadSide) -> None:
    lifted = SkipRecord(
        source=MADE.source, until_offset=7, operator="verdict", reason="whole again", decided_at=9,
        kind=Kind.LIFTED, aggregate=DAMAGED,
    )  # fmt: skip
    decide(read_side, MADE)

    decide(read_side, MADE, lifted)
    assert (read_side.select(SHOWN), read_side.select(HELD)) == ([], [])

    decide(read_side, MADE, lifted, MADE)
    assert len(read_side.select(SHOWN)) == 1

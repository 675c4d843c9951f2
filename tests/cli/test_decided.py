"""What is told of an aggregate whose history is damaged."""

import pytest

from schemas.position import PositionAdjusted
from tests.decide.test_history import OPENED, stored
from verdict.model.source import Source
from verdict.streaming.event_log.record import PositionedEvent
from verdict.streaming.event_log.skip_log import quarantine_in_words
from verdict.wire.skip_record import DamagedAggregate, Kind, SkipRecord, active_quarantines

EVENTS = "position.events"
FIRST, SECOND, THIRD = (
    PositionedEvent(Source(EVENTS, 0, 10 * one.event.version), "p-1", one.event.version, one)
    for one in stored(OPENED, PositionAdjusted(amount=7), PositionAdjusted(amount=9))
)
QUARANTINE = SkipRecord(
    source=Source(EVENTS, 0, 30),
    until_offset=30,
    operator="ada",
    reason="the disk is gone",
    decided_at=5,
    kind=Kind.QUARANTINED,
    aggregate=DamagedAggregate("position", "p-1", 2, 3, "version 3 follows version 1"),
)


@pytest.mark.proves("C-17", "G-07")
def test_a_quarantine_says_what_is_damaged_and_which_operator_continued() -> None:
    assert quarantine_in_words(QUARANTINE) == (
        "position 'p-1' is quarantined: its history is damaged from version 2 on (version 3 "
        "follows version 1); ada decided so (the disk is gone)"
    )


@pytest.mark.proves("C-17")
def test_a_quarantine_is_active_until_it_is_lifted() -> None:
    lifted = SkipRecord(
        source=QUARANTINE.source, until_offset=30, operator="verdict", reason="whole again",
        decided_at=9, kind=Kind.LIFTED, aggregate=QUARANTINE.aggregate,
    )  # fmt: skip

    assert active_quarantines([QUARANTINE]) == {("position", "p-1"): QUARANTINE}
    assert active_quarantines([QUARANTINE, lifted]) == {}
    assert active_quarantines([QUARANTINE, lifted, QUARANTINE]) != {}

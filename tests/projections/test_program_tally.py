from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from schemas.enrolment import (
    LoginRecorded,
    ParticipantActivated,
    ParticipantDeactivated,
    ParticipantEnrolled,
    ParticipantMoved,
)
from tests.kit.databases import ReadSide, Rows
from tests.kit.log import EventLog
from tests.read_side.accidents import Followed, Shown, Step, follow, of_enrolments, steps
from tests.tiers import examples
from verdict.model.message import iso_time
from verdict.model.recorded_event import RecordedEvent

NOON = 1_795_262_400_000
ENROLLED = ParticipantEnrolled(program="chess")
TALLIES = "SELECT * FROM program_tally ORDER BY program"


@pytest.fixture
def tallies(read_side: ReadSide) -> Shown:
    return Shown(read_side, EventLog(aggregate_type="enrolment"), "program_tally", TALLIES)


@pytest.mark.proves("T-01")
def test_active_to_inactive_moves_one_and_back(tallies: Shown) -> None:
    assert tallies.after("ada", ENROLLED) == [("chess", 1, 0, None)]
    assert tallies.after("bob", ENROLLED) == [("chess", 2, 0, None)]
    assert tallies.after("ada", ParticipantDeactivated()) == [("chess", 1, 1, None)]
    assert tallies.after("bob", ParticipantDeactivated()) == [("chess", 0, 2, None)]
    assert tallies.after("ada", ParticipantActivated()) == [("chess", 1, 1, None)]


@pytest.mark.proves("T-01")
def test_the_last_login_is_the_latest_of_participants_in_the_program(tallies: Shown) -> None:
    tallies.after("ada", ENROLLED, LoginRecorded(at=NOON + 1))
    tallies.after("bob", ENROLLED, LoginRecorded(at=NOON + 9), LoginRecorded(at=NOON + 3))
    both = tallies.after("ada", LoginRecorded(at=NOON + 5), ParticipantDeactivated())
    assert both == [("chess", 1, 1, iso_time(NOON + 9))]

    moved = tallies.after("bob", ParticipantMoved(program="go"))
    assert moved == [("chess", 0, 1, iso_time(NOON + 5)), ("go", 1, 0, iso_time(NOON + 9))]


def oracle(events: Iterable[RecordedEvent]) -> Rows:
    """Return the tallies, from the events alone."""
    participants: dict[str, dict[str, Any]] = {}
    for event in events:
        fields = event.payload.model_dump()
        participant = participants.setdefault(event.aggregate_id, {"active": True, "logins": []})
        match event.payload:
            case LoginRecorded(at=at):
                participant["logins"].append(at)
            case ParticipantActivated() | ParticipantDeactivated():
                participant["active"] = isinstance(event.payload, ParticipantActivated)
            case _:
                participant |= fields
    programs = sorted({participant["program"] for participant in participants.values()})
    return [(program, *_tally(program, participants.values())) for program in programs]


def _tally(program: str, participants: Iterable[dict[str, Any]]) -> tuple[int, int, str | None]:
    within = [participant for participant in participants if participant["program"] == program]
    logins = [at for participant in within for at in participant["logins"]]
    active = sum(participant["active"] for participant in within)
    return active, len(within) - active, iso_time(max(logins)) if logins else None


@pytest.mark.proves("T-01")
@pytest.mark.slow
@pytest.mark.both_databases
@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=steps(of_enrolments, ["ada", "bob", "cleo", "dora", "emil"]))
def test_whatever_happens_the_tallies_are_what_the_events_say(
    read_side: ReadSide, sequence: list[Step]
) -> None:
    run = Followed(read_side, "program_tally", "enrolment", query=TALLIES, oracle=oracle)
    follow(run, sequence)

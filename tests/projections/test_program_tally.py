from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from projections.program_tally import Participant, evolve
from schemas.enrolment import (
    LoginRecorded,
    ParticipantActivated,
    ParticipantDeactivated,
    ParticipantEnrolled,
    ParticipantMoved,
)
from tests.kit.databases import ReadSide, Rows
from tests.kit.log import AN_EVENT, EventLog
from tests.read_side.accidents import Followed, Step, follow, steps
from tests.tiers import examples
from verdict.model.message import Event, iso_time
from verdict.model.recorded_event import RecordedEvent

ACTIVE = Participant("chess", active=True, last_login=None)
NOON = 1_795_262_400_000

ENROLLED = ParticipantEnrolled(program="chess")


@pytest.mark.parametrize(
    ("before", "event", "after"),
    [
        (None, ENROLLED, ACTIVE),
        (ACTIVE, ParticipantDeactivated(), ACTIVE._replace(active=False)),
        (ACTIVE._replace(active=False), ParticipantActivated(), ACTIVE),
        (ACTIVE, ParticipantActivated(), ACTIVE),
        (ACTIVE, LoginRecorded(at=0), ACTIVE._replace(last_login=0)),
        (ACTIVE._replace(last_login=5), LoginRecorded(at=7), ACTIVE._replace(last_login=7)),
        (ACTIVE._replace(last_login=5), LoginRecorded(at=4), ACTIVE._replace(last_login=5)),
        (ACTIVE, ParticipantMoved(program="go"), ACTIVE._replace(program="go")),
    ],
)
def test_what_each_event_makes_of_a_participant(
    before: Participant | None, event: Event, after: Participant
) -> None:
    assert evolve(before, AN_EVENT._replace(payload=event)) == after


class Tallies:
    """Batches onto `program_tally`, and what is shown after them."""

    def __init__(self, read_side: ReadSide) -> None:
        self._read_side = read_side
        self._log = EventLog(aggregate_type="enrolment")
        self._applier = read_side.applier("program_tally")

    def after(self, participant: str, *events: Event) -> Rows:
        """Return all tallies after one batch with these events."""
        self._log.add(participant, *events)
        self._applier.apply(self._log.batch())
        assert not self._applier.is_stopped
        return self._read_side.select("SELECT * FROM program_tally ORDER BY program")


@pytest.fixture
def tallies(read_side: ReadSide) -> Tallies:
    return Tallies(read_side)


@pytest.mark.proves("T-01")
def test_active_to_inactive_moves_one_and_back(tallies: Tallies) -> None:
    assert tallies.after("ada", ENROLLED) == [("chess", 1, 0, None)]
    assert tallies.after("bob", ENROLLED) == [("chess", 2, 0, None)]
    assert tallies.after("ada", ParticipantDeactivated()) == [("chess", 1, 1, None)]
    assert tallies.after("bob", ParticipantDeactivated()) == [("chess", 0, 2, None)]
    assert tallies.after("ada", ParticipantActivated()) == [("chess", 1, 1, None)]


@pytest.mark.proves("T-01")
def test_the_last_login_is_the_latest_of_participants_in_the_program(tallies: Tallies) -> None:
    tallies.after("ada", ENROLLED, LoginRecorded(at=NOON + 1))
    tallies.after("bob", ENROLLED, LoginRecorded(at=NOON + 9), LoginRecorded(at=NOON + 3))
    both = tallies.after("ada", LoginRecorded(at=NOON + 5), ParticipantDeactivated())
    assert both == [("chess", 1, 1, iso_time(NOON + 9))]

    moved = tallies.after("bob", ParticipantMoved(program="go"))
    assert moved == [("chess", 0, 1, iso_time(NOON + 5)), ("go", 1, 0, iso_time(NOON + 9))]


def oracle(events: Iterable[RecordedEvent]) -> Rows:
    """Return the tallies, from the events alone."""
    participants: dict[str, dict[str, Any]] = {}
    for event in {event.event_id: event for event in events}.values():
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


class Tallied(Followed):
    """Few participants in few programs."""

    def __init__(self, read_side: ReadSide) -> None:
        super().__init__(read_side, "program_tally", "enrolment")
        self._enrolled: set[str] = set()

    def allowed(self, aggregate_id: str, payload: Event) -> bool:
        if isinstance(payload, ParticipantEnrolled) == (aggregate_id in self._enrolled):
            return False
        self._enrolled.add(aggregate_id)
        return True

    def check(self, events: Sequence[RecordedEvent]) -> None:
        found = self.read_side.select("SELECT * FROM program_tally ORDER BY program")
        assert found == oracle(events)


programs = st.sampled_from(["chess", "go", "shogi"])
happenings = st.one_of(
    st.builds(ParticipantEnrolled, program=programs),
    st.builds(ParticipantMoved, program=programs),
    st.builds(LoginRecorded, at=st.integers(NOON, NOON + 50)),
    st.sampled_from([ParticipantActivated(), ParticipantDeactivated()]),
)


@pytest.mark.proves("T-01")
@pytest.mark.slow
@pytest.mark.both_databases
@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=steps(happenings, ["ada", "bob", "cleo", "dora", "emil"]))
def test_whatever_happens_the_tallies_are_what_the_events_say(
    read_side: ReadSide, sequence: list[Step]
) -> None:
    follow(Tallied(read_side), sequence)

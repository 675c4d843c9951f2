"""`program_tally`: how many participants a program has, active and not, and the latest login."""

from typing import NamedTuple, assert_never

from schemas import enrolment as n
from verdict import Instant, RecordedEvent
from verdict.projections import Groups, count, key, maximum, projection, there


class Participant(NamedTuple):
    """What counts in a program's tally; the last login is the latest, not the one recorded last."""

    program: str
    active: bool
    last_login: Instant | None


def evolve(row: Participant | None, recorded: RecordedEvent[n.EnrolmentEvent]) -> Participant:
    match recorded.payload:
        case n.ParticipantEnrolled(program=program):
            return Participant(program, active=True, last_login=None)
        case n.ParticipantActivated():
            return there(row)._replace(active=True)
        case n.ParticipantDeactivated():
            return there(row)._replace(active=False)
        case n.LoginRecorded(at=at):
            return there(row)._replace(last_login=max(at, there(row).last_login or 0))
        case n.ParticipantMoved(program=program):
            return there(row)._replace(program=program)  # and takes the last login along
        case never:
            assert_never(never)


@projection(of="enrolment")
def program_tally() -> Groups[Participant]:
    """How many participants each program has."""
    return Groups(
        Participant,
        evolve,
        by=lambda row: row.program,
        columns={
            "program": key("The program."),
            "number_active": count("How many of its participants are active.", active=True),
            "number_inactive": count("How many are not.", active=False),
            "last_login": maximum("last_login", "The latest login of any of them."),
        },
    )

"""`program_tally`: how many participants a program has, active and not, and the latest login."""

from typing import NamedTuple, assert_never, cast

from sqlalchemy import BigInteger, Boolean, Column, Index, MetaData, Table, Text, func, select

from schemas.enrolment import (
    EnrolmentEvent,
    LoginRecorded,
    ParticipantActivated,
    ParticipantDeactivated,
    ParticipantEnrolled,
    ParticipantMoved,
)
from verdict import (
    CountedGroups,
    InstantType,
    RecordedEvent,
    RowProjection,
    Tally,
    described,
    row_table,
    version_view,
)


class Participant(NamedTuple):
    """What counts in a program's tally; the last login is the latest, not the one recorded last."""

    program: str
    active: bool
    last_login: int | None


def evolve(participant: Participant | None, recorded: RecordedEvent) -> Participant | None:
    """Return the participant after an event."""
    event = cast(EnrolmentEvent, recorded.payload)
    if isinstance(event, ParticipantEnrolled):
        return Participant(event.program, active=True, last_login=None)
    assert participant is not None, "the participant is not enrolled"
    match event:
        case ParticipantActivated():
            return participant._replace(active=True)
        case ParticipantDeactivated():
            return participant._replace(active=False)
        case LoginRecorded(at=at):
            return participant._replace(last_login=max(at, participant.last_login or 0))
        case ParticipantMoved(program=program):
            return participant._replace(program=program)
        case _:
            assert_never(event)


def by_program(participant: Participant) -> str:
    """Return the program that the participant is in."""
    return participant.program


def program_tally(version: int = 1) -> RowProjection[Participant]:
    """Return the projection; a participant who moves takes the last login along."""
    metadata = MetaData()
    participants = row_table(
        f"program_tally_participant_v{version}",
        metadata,
        Column("program", Text),
        Column("active", Boolean),
        Column("last_login", InstantType),
    )
    Index(f"{participants.name}_login", participants.c.group_key, participants.c.last_login)
    tally = Table(
        f"program_tally_v{version}",
        metadata,
        Column("program", Text, primary_key=True),
        Column("number_active", BigInteger, nullable=False),
        Column("number_inactive", BigInteger, nullable=False),
        Column("last_login", InstantType),
    )
    return RowProjection(
        name="program_tally",
        version=version,
        aggregate_types=("enrolment",),
        row=Participant,
        table=participants,
        evolve=evolve,
        group=by_program,
        shows=Tally(
            groups=CountedGroups(
                table=tally,
                members=participants,
                counts=("number_active", "number_inactive"),
                reads={"last_login": func.max(participants.c.last_login)},
            ),
            counts={
                "number_active": ("active", True),
                "number_inactive": ("active", False),
            },
        ),
        views={
            "program_tally": described(
                select(tally),
                "How many participants each program has.",
                program="The program.",
                number_active="How many of its participants are active.",
                number_inactive="How many are not.",
                last_login="The latest login of any of them.",
            ),
            **version_view("program_tally", "enrolment", participants),
        },
    )

"""The rules of an enrolment: which program a participant is in, active or not."""

from typing import assert_never

from commands.enrolment import (
    ActivateParticipant,
    DeactivateParticipant,
    EnrolmentCommand,
    EnrolParticipant,
    MoveParticipant,
    RecordLogin,
)
from schemas.enrolment import (
    EnrolmentEvent,
    LoginRecorded,
    ParticipantActivated,
    ParticipantDeactivated,
    ParticipantEnrolled,
    ParticipantMoved,
)
from verdict import Aggregate, Message, Text


class Enrolment(Message):
    """What the rules need to know of an enrolment."""

    program: Text
    active: bool = True


def decide(enrolment: Enrolment | None, command: EnrolmentCommand) -> list[EnrolmentEvent]:
    """Return the events that `command` causes; a command that changes nothing causes none."""
    if isinstance(command, EnrolParticipant):
        return [ParticipantEnrolled(program=command.program)]
    assert enrolment is not None  # only EnrolParticipant starts without one
    match command:
        case ActivateParticipant():
            return [] if enrolment.active else [ParticipantActivated()]
        case DeactivateParticipant():
            return [ParticipantDeactivated()] if enrolment.active else []
        case RecordLogin(at=at):
            return [LoginRecorded(at=at)]
        case MoveParticipant(program=program):
            return [ParticipantMoved(program=program)] if program != enrolment.program else []
        case _:
            assert_never(command)


def evolve(enrolment: Enrolment | None, event: EnrolmentEvent) -> Enrolment | None:
    """Return the enrolment after `event`; total, and it never refuses: the event happened."""
    if isinstance(event, ParticipantEnrolled):
        return Enrolment(program=event.program)
    assert enrolment is not None  # every history begins with ParticipantEnrolled
    match event:
        case ParticipantActivated():
            return enrolment.model_copy(update={"active": True})
        case ParticipantDeactivated():
            return enrolment.model_copy(update={"active": False})
        case LoginRecorded():
            return enrolment
        case ParticipantMoved(program=program):
            return enrolment.model_copy(update={"program": program})
        case _:
            assert_never(event)


enrolment = Aggregate(
    "enrolment", Enrolment, decide, evolve, commands=EnrolmentCommand, events=EnrolmentEvent
)

"""What may be asked of an enrolment; its id is the participant's."""

from commands.command import CREATING, Command
from schemas.message import Instant, Text


class EnrolParticipant(Command):
    starts_from = CREATING

    program: Text


class ActivateParticipant(Command):
    pass


class DeactivateParticipant(Command):
    pass


class RecordLogin(Command):
    at: Instant


class MoveParticipant(Command):
    program: Text


EnrolmentCommand = (
    EnrolParticipant | ActivateParticipant | DeactivateParticipant | RecordLogin | MoveParticipant
)

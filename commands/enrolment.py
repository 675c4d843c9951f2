"""What may be asked of an enrolment; its id is the participant's."""

from verdict import CREATING, Command, Instant, Name


class EnrolParticipant(Command):
    starts_from = CREATING

    program: Name


class ActivateParticipant(Command):
    pass


class DeactivateParticipant(Command):
    pass


class RecordLogin(Command):
    at: Instant


class MoveParticipant(Command):
    program: Name


EnrolmentCommand = (
    EnrolParticipant | ActivateParticipant | DeactivateParticipant | RecordLogin | MoveParticipant
)

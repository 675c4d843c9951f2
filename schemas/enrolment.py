"""Enrolment events: what the `enrolment.events` topic holds, forever.

A class name here is a storage format. Renaming one or dropping a field breaks
every replay; add a new event instead.
"""

from verdict import Event, Instant, Text


class ParticipantEnrolled(Event):
    """A participant is active from the beginning."""

    program: Text


class ParticipantActivated(Event):
    pass


class ParticipantDeactivated(Event):
    pass


class LoginRecorded(Event):
    """`at` is when it was, as its recorder says; logins may be recorded in any order."""

    at: Instant


class ParticipantMoved(Event):
    program: Text


EnrolmentEvent = (
    ParticipantEnrolled
    | ParticipantActivated
    | ParticipantDeactivated
    | LoginRecorded
    | ParticipantMoved
)

"""A command type: its fields, the states it may start from, and how a rule refuses it."""

from enum import StrEnum
from typing import ClassVar

from verdict.model.message import Message


class LifeCycle(StrEnum):
    """NONE never existed, ACTIVE takes commands, DELETED keeps only its version."""

    NONE = "NONE"
    ACTIVE = "ACTIVE"
    DELETED = "DELETED"

    __hash__ = str.__hash__  # an enum's own is slower, and each command needs it


CREATING = frozenset({LifeCycle.NONE})
REOPENING = frozenset({LifeCycle.NONE, LifeCycle.DELETED})
EXISTING = frozenset({LifeCycle.ACTIVE})


class Command(Message):
    """A request, named imperative + noun. Most commands need an existing aggregate."""

    starts_from: ClassVar[frozenset[LifeCycle]] = EXISTING


class Refused(Exception):  # noqa: N818  # authors raise it in rules: an answer, not an error
    """A command breaks a rule of its aggregate.

    Args:
        code: The rule, for machines, for example `OVERFILL`.
        message: The rule and its numbers, for the sender: lower case, no full stop.
        numbers: The numbers of the message, for machines.
    """

    def __init__(self, code: str, message: str, **numbers: int | str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.numbers = numbers

"""Where an aggregate stands in its life."""

from enum import StrEnum


class LifeCycle(StrEnum):
    """NONE never existed, ACTIVE takes commands, DELETED keeps only its version."""

    NONE = "NONE"
    ACTIVE = "ACTIVE"
    DELETED = "DELETED"

    __hash__ = str.__hash__  # that of an enum is Python's, and asked for with each command

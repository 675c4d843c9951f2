"""Why a command was rejected."""

from enum import StrEnum


class Reason(StrEnum):
    """The reason of a rejection: the first check that failed."""

    INVALID_COMMAND = "INVALID_COMMAND"
    UNKNOWN_TYPE = "UNKNOWN_TYPE"
    COMMAND_ID_REUSED = "COMMAND_ID_REUSED"
    QUARANTINED = "QUARANTINED"
    EXPIRED = "EXPIRED"
    VERSION_CONFLICT = "VERSION_CONFLICT"
    ALREADY_EXISTS = "ALREADY_EXISTS"
    NOT_FOUND = "NOT_FOUND"
    DELETED = "DELETED"
    BUSINESS_RULE = "BUSINESS_RULE"
    TOO_LARGE = "TOO_LARGE"
    HANDLER_ERROR = "HANDLER_ERROR"

    @property
    def retriable(self) -> bool:
        """Whether the same command id may be sent again and is then decided."""
        return self in (Reason.HANDLER_ERROR, Reason.QUARANTINED)

    @property
    def advice(self) -> str:
        """What the sender can do."""
        return ADVICE.get(self, "send another command, under a new id, if it is still wanted")


ADVICE = {
    Reason.INVALID_COMMAND: "fix the sender",
    Reason.UNKNOWN_TYPE: "fix the sender",
    Reason.COMMAND_ID_REUSED: "send it under a new id",
    Reason.QUARANTINED: "send it again under the same id once the quarantine is lifted",
    Reason.VERSION_CONFLICT: "reload, decide again, and send that under a new id",
    Reason.HANDLER_ERROR: "send it again under the same id once the rules are fixed",
}

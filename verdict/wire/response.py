"""The outcome of a command: the response, and the rejection that auditors read."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict

from verdict.model.command import LifeCycle
from verdict.model.command_envelope import Expectation
from verdict.model.message import (
    Base64,
    Fields,
    Hash,
    OpenEnum,
    TimestampMillis,
    epoch_millis,
    made_of,
)
from verdict.model.reason import Reason
from verdict.model.source import Source


class Status(StrEnum):
    """How a command ended."""

    ACCEPTED = "ACCEPTED"
    REJECTED = "REJECTED"

    __hash__ = str.__hash__  # an enum's own is slower, and each response needs it


Details = dict[str, int | str]
# any number: what is in Kafka must stay readable
Time = Annotated[int, BeforeValidator(epoch_millis), TimestampMillis()]


class Response(BaseModel):
    """The outcome of one command record; every readable command gets exactly one.

    `from_version` and `to_version` are equal if an accepted command changed nothing. `last_hash` is
    the SHA-256 of the aggregate's last event record after the command, empty if there is none. A
    rejection with INVALID_COMMAND or UNKNOWN_TYPE has no digest, versions, hash or state. If
    `retriable`, the same command id may be sent again. A duplicate repeats the original outcome
    with its own `source`, `correlation_id` and `actor`.

    `model_dump_json` gives the output of `verdict send --json`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    command_id: str
    command_digest: Hash | None
    aggregate_type: str
    aggregate_id: str
    command_type: str | None
    status: Status
    duplicate: bool
    from_version: int | None
    to_version: int | None
    event_ids: list[str]
    reason: Annotated[Reason, OpenEnum()] | None
    message: str | None
    details: Details
    expected_version: int | Expectation | None
    actual_version: int | None
    actual_state: LifeCycle | None
    retriable: bool
    correlation_id: str
    source: Source
    decided_at: Time
    handler_version: str
    last_hash: Hash | None
    actor: str | None = None

    @classmethod
    def trusted(cls, fields: Fields) -> Self:
        """Return a response of fields that are right by construction; it owns this dict now."""
        return made_of(cls, fields)

    def raise_for_rejection(self) -> Self:
        """Return the response if the command was accepted.

        Raises:
            CommandRejectedError: The command was rejected.
        """
        if self.status is Status.REJECTED:
            raise CommandRejectedError(self)
        return self


# What a response says that knows neither the state nor the events.
NOT_KNOWN: Fields = {
    "command_digest": None, "command_type": None, "duplicate": False, "from_version": None,
    "to_version": None, "event_ids": [], "reason": None, "message": None, "details": {},
    "expected_version": None, "actual_version": None, "actual_state": None, "retriable": False,
    "last_hash": None,
}  # fmt: skip


class Rejection(Response):
    """A rejected command with its bytes."""

    command_bytes: Annotated[bytes, Base64()]


class CommandRejectedError(Exception):
    """A command was rejected; `response` says why."""

    def __init__(self, response: Response) -> None:
        super().__init__(response)  # so that it can be pickled
        self.response = response

    def __str__(self) -> str:
        told = self.response
        advice = told.reason.advice if told.reason else ""
        return (
            f"{told.command_type or 'command'} {told.command_id!r} to {told.aggregate_type} "
            f"{told.aggregate_id!r} was rejected, {told.reason}: {told.message}; {advice}"
        )

"""The answer to a command, and what is kept of a refused one."""

from base64 import b64encode
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer

from verdict.model.command_envelope import Expectation
from verdict.model.life_cycle import LifeCycle
from verdict.model.message import (
    Hash,
    OpenEnum,
    TimestampMillis,
    epoch_millis,
    iso_time,
    made_of,
)
from verdict.model.reason import Reason
from verdict.model.source import Source


class Status(StrEnum):
    """How a command ended."""

    ACCEPTED = "ACCEPTED"
    REJECTED = "REJECTED"

    __hash__ = str.__hash__  # that of an enum is Python's, and asked for with each response


def _base64(value: bytes) -> str:
    return b64encode(value).decode()


Details = dict[str, int | str]
Time = Annotated[  # whatever Kafka says: what lies there must stay readable
    int, BeforeValidator(epoch_millis), TimestampMillis(), PlainSerializer(iso_time, str, "json")
]


class Response(BaseModel):
    """The outcome of one command record; every readable command gets exactly one.

    `from_version` and `to_version` are the aggregate's versions before and after, equal when an
    accepted command changed nothing. `last_hash` is the SHA-256 of the event record that is
    the aggregate's last one after the command, empty before the first: hashes inside the events
    look backwards, so only this one tells of the last event. A command that could be accepted by no
    aggregate (INVALID_COMMAND and UNKNOWN_TYPE) has no digest, versions, hash or state; older
    responses have no hash either. `retriable` means that the same command id may be sent again. A
    duplicate repeats the original outcome with its own `source`, `correlation_id` and `actor`.

    `model_dump_json` gives what `verdict send --json` prints, times in ISO 8601 and hashes in
    hexadecimal, and `model_validate_json` reads it.
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
    def trusted(cls, fields: dict[str, Any]) -> Self:
        """Return one whose fields, all of them, are right by construction; nothing is looked at.

        Args:
            fields: The response has this dict from now on.
        """
        return made_of(cls, fields)

    def raise_for_rejection(self) -> Self:
        """Return the response itself when the command was accepted.

        Raises:
            CommandRejectedError: It was refused.
        """
        if self.status is Status.REJECTED:
            raise CommandRejectedError(self)
        return self


class Rejection(Response):
    """A refused command, once per rejection, with the bytes that were sent."""

    command_bytes: Annotated[bytes, PlainSerializer(_base64, str, "json")]


class CommandRejectedError(Exception):
    """A command was refused; `response` says by which check, and what is instead."""

    def __init__(self, response: Response) -> None:
        super().__init__(response)  # what it is made of again, so that it can be pickled
        self.response = response

    def __str__(self) -> str:
        told = self.response
        advice = told.reason.advice if told.reason else ""
        return (
            f"{told.command_type or 'command'} {told.command_id!r} to {told.aggregate_type} "
            f"{told.aggregate_id!r} was rejected, {told.reason}: {told.message}; {advice}"
        )

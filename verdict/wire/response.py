"""The answer to a command, and what is kept of a refused one."""

from dataclasses import dataclass
from enum import StrEnum

from verdict.model.command_envelope import Expectation
from verdict.model.life_cycle import LifeCycle
from verdict.model.message import Hash, Instant
from verdict.model.source import Source


class Status(StrEnum):
    """How a command ended."""

    ACCEPTED = "ACCEPTED"
    REJECTED = "REJECTED"


Details = dict[str, int | str]


@dataclass(frozen=True, slots=True)
class Response:
    """The outcome of one command record; every readable command gets exactly one.

    `from_version` and `to_version` are the aggregate's versions before and after, equal when an
    accepted command changed nothing. `last_hash` is the SHA-256 of the event record that is
    the aggregate's last one after the command, empty before the first: hashes inside the events
    look backwards, so only this one tells of the last event. A command that could be accepted by no
    aggregate (INVALID_COMMAND and UNKNOWN_TYPE) has no digest, versions, hash or state; older
    responses have no hash either. `retriable` means that the same command id may be sent again. A
    duplicate repeats the original outcome with its own `source` and `correlation_id`.
    """

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
    reason: str | None
    message: str | None
    details: Details
    expected_version: int | Expectation | None
    actual_version: int | None
    actual_state: LifeCycle | None
    retriable: bool
    correlation_id: str
    source: Source
    decided_at: Instant
    handler_version: str
    last_hash: Hash | None


@dataclass(frozen=True, slots=True)
class Rejection(Response):
    """A refused command, once per rejection, with the bytes that were sent."""

    command_bytes: bytes

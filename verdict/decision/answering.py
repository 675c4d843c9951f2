"""The responses: what the sender of a command is told."""

from functools import cache
from typing import Any, NamedTuple

from verdict.application import current
from verdict.decision.received import MalformedCommand, ReceivedCommand
from verdict.decision.recording import DIGEST, EVENT_ID, Recorded, decided_at
from verdict.decision.snapshot import Snapshot
from verdict.model.aggregate import Aggregate
from verdict.model.life_cycle import LifeCycle
from verdict.model.reason import Reason
from verdict.wire.avro_pieces import known_long, known_text, write_bytes, write_long, write_text
from verdict.wire.avro_writer import Writer, field_writer
from verdict.wire.codec import prefix_of
from verdict.wire.response import Details, Response, Status
from verdict.wire.schema_files import newest

NOTHING, SOME, NO, YES = b"\0", b"\2", b"\0", b"\1"
NONE_OF_THEM = b"\0"  # the end of a list or a map
ACCEPTED, REJECTED = (write_long(index) for index, _ in enumerate(Status))
STATES = {one: SOME + write_long(index) for index, one in enumerate(LifeCycle)}


class Rejected(Exception):  # an answer, not an error
    """A check failed; the message is for the sender, with the numbers that decided."""

    def __init__(self, reason: Reason, message: str, details: Details | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.details = details or {}


def acceptance(
    decider: Aggregate[Any],
    snapshot: Snapshot[Any],
    command: ReceivedCommand,
    events: tuple[Recorded, ...],
    after: Snapshot[Any],
) -> bytes:
    """Return the response to a command that caused `events`, from `snapshot` to `after`.

    Answers are written as `encode` would write a `Response`, from slices of the command.
    """
    return b"".join(
        (
            *_begun(command, ACCEPTED),
            SOME, known_long(snapshot.version), SOME, known_long(after.version),  # from, to
            _event_ids(events), NOTHING * 2, NONE_OF_THEM,  # no reason, no message, no details
            command.envelope.expected, NOTHING * 2, NO,  # no actual version and state, retriable
            *_ended(decider, snapshot, command, after.last_hash),
        )
    )  # fmt: skip


def rejection(
    decider: Aggregate[Any],
    snapshot: Snapshot[Any],
    command: ReceivedCommand,
    rejected: Rejected,
) -> bytes:
    """Return the response to a command that failed a check against `snapshot`."""
    version = SOME + known_long(snapshot.version)
    return b"".join(
        (
            *_begun(command, REJECTED),
            version, version, NONE_OF_THEM,  # from, to; no events
            SOME, known_text(rejected.reason), SOME, write_text(rejected.message),
            _response().write_details(rejected.details),
            command.envelope.expected, version, STATES[snapshot.life_cycle],
            YES if rejected.reason.retriable else NO,
            *_ended(decider, snapshot, command, snapshot.last_hash),
        )
    )  # fmt: skip


def _begun(command: ReceivedCommand, status: bytes) -> tuple[bytes, ...]:
    envelope = command.envelope
    return (
        _response().prefix, envelope.command, SOME, DIGEST, command.digest,
        known_text(command.aggregate_type), envelope.aggregate,
        SOME, known_text(command.payload.__class__.__name__), status, NO,  # no duplicate
    )  # fmt: skip


def _ended(
    decider: Aggregate[Any], snapshot: Snapshot[Any], command: ReceivedCommand, last_hash: bytes
) -> tuple[bytes, ...]:
    return (
        command.envelope.correlation, command.source, known_long(decided_at(snapshot, command)),
        known_text(decider.handler_version), SOME, write_bytes(last_hash),
    )  # fmt: skip


def _event_ids(events: tuple[Recorded, ...]) -> bytes:
    if not events:
        return NONE_OF_THEM
    ids = b"".join([EVENT_ID + one.event_id.encode() for one in events])
    return write_long(len(events)) + ids + NONE_OF_THEM


class _ResponseSchema(NamedTuple):
    prefix: bytes
    write_details: Writer


@cache
def _response() -> _ResponseSchema:
    version = newest("response")
    return _ResponseSchema(prefix_of(version), field_writer(version.schema, "details"))


def malformed(command: MalformedCommand) -> Response:
    """Return the response to a command that no aggregate could accept; no state is looked at."""
    return Response.trusted(
        {
            "command_id": command.command_id,
            "command_digest": None,
            "aggregate_type": command.aggregate_type,
            "aggregate_id": command.aggregate_id,
            "command_type": command.command_type,
            "status": Status.REJECTED,
            "duplicate": False,
            "from_version": None,
            "to_version": None,
            "event_ids": [],
            "reason": command.reason,
            "message": command.message,
            "details": command.details,
            "expected_version": None,
            "actual_version": None,
            "actual_state": None,
            "retriable": command.reason.retriable,
            "correlation_id": command.correlation_id,
            "source": command.record.source,
            "decided_at": command.record.timestamp,
            "handler_version": current().aggregate(command.aggregate_type).handler_version,
            "last_hash": None,
        }
    )

"""The responses to valid commands."""

from functools import cache
from typing import Any

from verdict.model.aggregate import Aggregate
from verdict.model.command import LifeCycle
from verdict.wire.avro.writer import (
    Writer,
    field_writer,
    known_long,
    known_text,
    write_long,
    write_text,
)
from verdict.wire.codec import prefix_of
from verdict.wire.response import Status
from verdict.wire.schemas.files import ENGINE
from verdict.write_side.decide.event_encoding import (
    EVENT_ID,
    HASH,
    NO_HASH,
    EncodedEvent,
    decided_at,
)
from verdict.write_side.decide.parse import CheckFailedError, ReceivedCommand
from verdict.write_side.decide.snapshot import Snapshot

NOTHING, SOME, NO, YES = b"\0", b"\2", b"\0", b"\1"
NONE_OF_THEM = b"\0"  # the end of a list or a map
SOME_HASH, NEVER = SOME + HASH, SOME + NO_HASH
ACCEPTED, REJECTED = (write_long(index) + NO for index, _ in enumerate(Status))  # no duplicate
NO_REASON = NOTHING + NOTHING + NONE_OF_THEM  # nor message and details
NOTHING_ELSE = NOTHING + NOTHING + NO  # no actual version and state; not to be sent again
NO_VERSIONS = NOTHING + NOTHING + NONE_OF_THEM  # from, to, and event ids
NO_STATE = NOTHING + NOTHING + NOTHING  # expected and actual version, actual state
STATES = {one: SOME + write_long(index) for index, one in enumerate(LifeCycle)}


def accepted_response(
    decider: Aggregate[Any],
    snapshot: Snapshot[Any],
    command: ReceivedCommand,
    events: tuple[EncodedEvent, ...],
    after: Snapshot[Any],
) -> bytes:
    """Return the response to a command that caused `events`, from `snapshot` to `after`.

    Answers are written as `encode` would write a `Response`, from slices of the command.
    """
    what = b"".join((
        ACCEPTED, SOME, known_long(snapshot.version), SOME, known_long(after.version),
        _event_ids(events), NO_REASON, command.envelope.expected, NOTHING_ELSE,
    ))  # fmt: skip
    return _answer(decider, snapshot, command, what, _hash(after.last_hash))


def rejected_response(
    decider: Aggregate[Any],
    snapshot: Snapshot[Any],
    command: ReceivedCommand,
    rejected: CheckFailedError,
) -> bytes:
    """Return the response to a command that failed a check against `snapshot`."""
    reason, version = rejected.reason, known_long(snapshot.version)
    _, write_details = _schema()
    why = b"".join((
        SOME, known_text(reason), SOME, write_text(rejected.message),
        write_details(rejected.details),
    ))  # fmt: skip
    retriable = YES if reason.retriable else NO
    if snapshot.quarantined:  # its version is not known
        what = REJECTED + NO_VERSIONS + why + NO_STATE + retriable
        return _answer(decider, snapshot, command, what, NOTHING)
    what = b"".join((
        REJECTED, SOME, version, SOME, version, NONE_OF_THEM, why,
        command.envelope.expected, SOME, version, STATES[snapshot.life_cycle], retriable,
    ))  # fmt: skip
    return _answer(decider, snapshot, command, what, _hash(snapshot.last_hash))


def _answer(
    decider: Aggregate[Any],
    snapshot: Snapshot[Any],
    command: ReceivedCommand,
    what: bytes,
    last_hash: bytes,
) -> bytes:
    """Return the response: `what` are its fields from `status` to `retriable`."""
    aggregate_type, envelope, payload, digest, source, _ = command
    prefix, _ = _schema()
    return b"".join((
        prefix, envelope.command, SOME_HASH, digest,
        known_text(aggregate_type), envelope.aggregate,
        SOME, known_text(payload.__class__.__name__), what,
        envelope.correlation, source, known_long(decided_at(snapshot, command)),
        known_text(decider.handler_version), last_hash, envelope.actor,
    ))  # fmt: skip


def _hash(last_hash: bytes) -> bytes:
    return SOME_HASH + last_hash if last_hash else NEVER


def _event_ids(events: tuple[EncodedEvent, ...]) -> bytes:
    if not events:
        return NONE_OF_THEM
    ids = b"".join([EVENT_ID + one.event_id.encode() for one in events])
    return write_long(len(events)) + ids + NONE_OF_THEM


@cache
def _schema() -> tuple[bytes, Writer]:
    """Return how a response begins, and what writes its details."""
    version = ENGINE.newest("response")
    return prefix_of(version), field_writer(version.schema, "details")

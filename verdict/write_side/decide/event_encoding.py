"""Encodes the events of a command: the only place that numbers events."""

from hashlib import sha256
from typing import Any, NamedTuple

from verdict.model.message import Event
from verdict.model.recorded_event import event_id
from verdict.wire.avro.writer import known_long, known_text, write_long
from verdict.wire.catalog import AggregateContext
from verdict.write_side.decide.parse import ReceivedCommand
from verdict.write_side.decide.snapshot import Snapshot

EVENT_ID = write_long(36)  # characters
DIGEST = HASH = write_long(32)  # bytes
NO_HASH = write_long(0)  # before the first event


class EncodedEvent(NamedTuple):
    """An event with its id and the bytes of its record."""

    event_id: str
    payload: Event
    value: bytes


def encode_events(
    context: AggregateContext,
    snapshot: Snapshot[Any],
    command: ReceivedCommand,
    events: list[Event],
) -> tuple[tuple[EncodedEvent, ...], bytes]:
    """Number the events without a gap, chain them by hash, and encode them; pure.

    Each is written as `encode_event` would write a `RecordedEvent`, from slices of the command. An
    event that does not fit the aggregate's schema raises ValueError, TypeError or LookupError.
    """
    prefix, write_payload = context.event_writer
    aggregate_type, envelope, _, digest, source, _ = command
    aggregate_id, version = envelope.aggregate_id, snapshot.version
    opening = prefix + EVENT_ID
    about, count = known_text(aggregate_type) + envelope.aggregate, known_long(len(events))
    common = b"".join((  # what all events of a command say, from its id to the rules' version
        envelope.command, DIGEST, digest, envelope.correlation,
        envelope.command,  # the cause
        envelope.actor, envelope.trace, known_long(decided_at(snapshot, command)), source,
        known_text(context.aggregate.handler_version),
    ))  # fmt: skip
    last_hash, recorded = snapshot.last_hash, []
    for index, payload in enumerate(events):
        version += 1
        name = event_id(aggregate_type, aggregate_id, version)
        value = b"".join((
            opening, name.encode(), about, known_long(version), known_long(index), count, common,
            HASH + last_hash if last_hash else NO_HASH, write_payload(payload),
        ))  # fmt: skip
        last_hash = sha256(value).digest()
        recorded.append(EncodedEvent(name, payload, value))
    return tuple(recorded), last_hash


def decided_at(snapshot: Snapshot[Any], command: ReceivedCommand) -> int:
    """Return Kafka's time of the command, but never one before the aggregate's last event."""
    arrived, before = command.record.timestamp, snapshot.decided_at
    return arrived if arrived > before else before

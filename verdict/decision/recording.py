"""From what the rules returned to history: the only place that numbers events."""

from hashlib import sha256
from typing import Any, NamedTuple

from verdict.decision.received import ReceivedCommand
from verdict.decision.snapshot import Snapshot
from verdict.model.aggregate import Aggregate
from verdict.model.message import Event
from verdict.model.recorded_event import RecordedEvent, event_id
from verdict.wire.records import encode_event


class StoredEvent(NamedTuple):
    """An event and the bytes that the next event's `previous_hash` is taken of."""

    event: RecordedEvent
    value: bytes


def record(
    decider: Aggregate[Any],
    snapshot: Snapshot[Any],
    command: ReceivedCommand,
    events: list[Event],
) -> tuple[tuple[StoredEvent, ...], bytes]:
    """Number the events without a gap, chain them by hash, and encode them; pure.

    Returns:
        The events with their bytes, and the hash that the aggregate's next event will carry.

    Raises:
        ValueError, TypeError, LookupError: An event does not fit the aggregate's schema.
    """
    envelope, previous_hash, recorded = command.envelope, snapshot.last_hash, []
    time = decided_at(snapshot, command)
    for index, payload in enumerate(events):
        version = snapshot.version + 1 + index
        event = RecordedEvent(
            event_id=event_id(command.aggregate_type, envelope.aggregate_id, version),
            aggregate_type=command.aggregate_type,
            aggregate_id=envelope.aggregate_id,
            version=version,
            index=index,
            count=len(events),
            command_id=envelope.command_id,
            command_digest=command.digest,
            correlation_id=command.correlation_id,
            causation_id=envelope.command_id,
            actor=envelope.actor,
            traceparent=envelope.traceparent,
            decided_at=time,
            source=command.record.source,
            handler_version=decider.handler_version,
            previous_hash=previous_hash,
            payload=payload,
        )
        value = encode_event(event)
        previous_hash = sha256(value).digest()
        recorded.append(StoredEvent(event, value))
    return tuple(recorded), previous_hash


def decided_at(snapshot: Snapshot[Any], command: ReceivedCommand) -> int:
    """Return Kafka's time of the command, but never before the aggregate's last event."""
    return max(command.record.timestamp, snapshot.decided_at)

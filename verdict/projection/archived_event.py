"""An event as the archive keeps it: its bytes, and what can be asked of them; pure."""

from hashlib import sha256
from typing import Any

from pydantic_core import to_json

from verdict.database.statements import Values
from verdict.model.recorded_event import RecordedEvent
from verdict.projection.batch import Delivery
from verdict.wire.readable import readable

Identity = tuple[str, str, int]  # aggregate type, aggregate id, version


def event_of(delivery: Delivery) -> RecordedEvent:
    """Return the event that was delivered."""
    assert isinstance(delivery.record, RecordedEvent), "the archive follows events only"
    return delivery.record


def _value(delivery: Delivery) -> bytes:
    assert delivery.value is not None, "an event travels with its bytes"
    return delivery.value


def identity(delivery: Delivery) -> Identity:
    """Return which event it is, whatever its place."""
    event = event_of(delivery)
    return event.aggregate_type, event.aggregate_id, event.version


def digest(delivery: Delivery) -> str:
    """Return the SHA-256 of its bytes, in hexadecimal."""
    return sha256(_value(delivery)).hexdigest()


def row(delivery: Delivery) -> Values:
    """Return its row, but for the position; payload and metadata are JSON."""
    event = event_of(delivery)
    return {
        "aggregate_type": event.aggregate_type,
        "aggregate_id": event.aggregate_id,
        "version": event.version,
        "event_id": event.event_id,
        "event_type": type(event.payload).__name__,
        "payload": _json(readable(event.payload)),
        "metadata": _json(_metadata(event)),
        "value": _value(delivery),
        "hash": digest(delivery),
        "topic": delivery.topic,
        "partition": delivery.partition,
        "offset": delivery.offset,
        "decided_at": event.decided_at,
    }


def _metadata(event: RecordedEvent) -> dict[str, Any]:
    return {
        "index": event.index,
        "count": event.count,
        "command_id": event.command_id,
        "command_digest": event.command_digest.hex(),
        "correlation_id": event.correlation_id,
        "causation_id": event.causation_id,
        "actor": event.actor,
        "traceparent": event.traceparent,
        "source": {
            "topic": event.source.topic,
            "partition": event.source.partition,
            "offset": event.source.offset,
        },
        "handler_version": event.handler_version,
        "previous_hash": event.previous_hash.hex(),
    }


def _json(fields: dict[str, Any]) -> str:
    return to_json(fields).decode()

"""An event as the archive keeps it: its bytes, and what can be asked of them; pure."""

from hashlib import sha256
from typing import Any, NamedTuple

from pydantic_core import to_json

from verdict.model.nul import spell_out_nul_in
from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.apply.batch import Delivery
from verdict.wire.json import readable

Identity = tuple[str, str, int]  # aggregate type, aggregate id, version


class ArchivedEvent(NamedTuple):
    """Its row, but for the position; payload and metadata are JSON, the time epoch milliseconds."""

    aggregate_type: str
    aggregate_id: str
    version: int
    event_id: str
    event_type: str
    payload: str
    metadata: str
    value: bytes
    hash: str
    topic: str
    partition: int
    offset: int
    decided_at: int

    @property
    def identity(self) -> Identity:
        """Which event it is, whatever its place."""
        return self[:3]


def archived_event(delivery: Delivery) -> ArchivedEvent:
    """Return the row of an event, which travels with its bytes or, from a worker, with its row."""
    if delivery.row is not None:
        return ArchivedEvent._make(delivery.row)
    event, value = delivery.record, delivery.value
    assert isinstance(event, RecordedEvent), "the archive follows events only"
    assert value is not None, "an event travels with its bytes"
    return ArchivedEvent(
        event.aggregate_type,
        event.aggregate_id,
        event.version,
        event.event_id,
        type(event.payload).__name__,
        _json(readable(spell_out_nul_in(event.payload))),
        _json(_metadata(event)),
        value,
        sha256(value).hexdigest(),
        *delivery[:3],
        event.decided_at,
    )


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

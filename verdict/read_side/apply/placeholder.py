"""Events of the engine's own: they stand for what a projection is to take, and is not there."""

from verdict.model.message import Event
from verdict.model.recorded_event import RecordedEvent, event_id
from verdict.model.source import Source


class SkippedEvent(Event):
    """Stands for a payload that a projection does without; the aggregate's version moves on."""


def stand_in(aggregate_type: str, aggregate_id: str, version: int, payload: Event) -> RecordedEvent:
    """Return an event of which nothing else is known."""
    return RecordedEvent(
        event_id=event_id(aggregate_type, aggregate_id, version),
        aggregate_type=aggregate_type,
        aggregate_id=aggregate_id,
        version=version,
        index=0,
        count=1,
        command_id="",
        command_digest=b"",
        correlation_id="",
        causation_id="",
        actor=None,
        traceparent=None,
        decided_at=0,
        source=Source("", 0, 0),
        handler_version="",
        previous_hash=b"",
        payload=payload,
    )

"""Events as a projection is to take them, after what people decided about some of them; pure."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from projections.engine.batch import Delivery, Unreadable
from projections.engine.intervention import Amendments
from schemas.message import Event
from schemas.recorded_event import RecordedEvent
from schemas.wire.payload import payload_from


class PassedOver(Event):
    """Stands for a payload that a projection does without; the aggregate's version moves on."""


def amended(deliveries: Iterable[Delivery], in_force: Amendments) -> Iterable[Delivery]:
    """Return the deliveries, events with the payload that is in force.

    Args:
        deliveries: Decoded from what lies in Kafka or in the archive.
        in_force: What people decided, for the projection that takes them.
    """
    return _amended(deliveries, in_force) if in_force else deliveries


def _amended(deliveries: Iterable[Delivery], in_force: Amendments) -> Iterator[Delivery]:
    for delivery in deliveries:
        event = delivery.record
        if isinstance(event, RecordedEvent):
            key = event.aggregate_type, event.aggregate_id, event.version
            if key in in_force:
                yield delivery._replace(record=_instead(event, in_force[key]))
                continue
        yield delivery


def _instead(event: RecordedEvent, payload: str | None) -> RecordedEvent | Unreadable:
    if payload is None:
        return replace(event, payload=PassedOver())
    try:
        return replace(event, payload=payload_from(type(event.payload), payload))
    except ValueError as error:  # its class states other rules by now
        return Unreadable(f"what replaces it does not fit any more: {error}")

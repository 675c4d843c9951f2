"""Events as a projection is to take them, after what people decided about some of them; pure."""

from collections.abc import Iterable, Iterator

from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.apply.batch import Delivery, UnreadableRecord
from verdict.read_side.apply.placeholder import SkippedEvent, stand_in
from verdict.read_side.tables.interventions import Amendments
from verdict.wire.json import payload_from


def amended(deliveries: Iterable[Delivery], in_force: Amendments) -> Iterable[Delivery]:
    """Return the deliveries, events with the payload that is in force."""
    return _amended(deliveries, in_force) if in_force else deliveries


def _amended(deliveries: Iterable[Delivery], in_force: Amendments) -> Iterator[Delivery]:
    for delivery in deliveries:
        event = delivery.record
        of = event.event if isinstance(event, UnreadableRecord) else None
        if of is not None and in_force.get(of, "") is None:
            event = stand_in(*of, SkippedEvent())
        if isinstance(event, RecordedEvent):
            yield from _before(delivery, event, in_force)
            key = event.aggregate_type, event.aggregate_id, event.version
            if key in in_force:
                yield delivery._replace(record=_instead(event, in_force[key]))
                continue
        yield delivery


def _before(delivery: Delivery, event: RecordedEvent, in_force: Amendments) -> Iterator[Delivery]:
    """Yield what stands for the versions right before an event that are passed over.

    They may never have come; of one that has come this is a second one, which is skipped.
    """
    aggregate, first = (event.aggregate_type, event.aggregate_id), event.version
    while in_force.get((*aggregate, first - 1), "") is None:
        first -= 1
    for version in range(first, event.version):
        yield delivery._replace(record=event._replace(version=version, payload=SkippedEvent()))


def _instead(event: RecordedEvent, payload: str | None) -> RecordedEvent | UnreadableRecord:
    if payload is None:
        return event._replace(payload=SkippedEvent())
    try:
        return event._replace(payload=payload_from(type(event.payload), payload))
    except ValueError as error:  # its class states other rules by now
        return UnreadableRecord(f"what replaces it does not fit any more: {error}")

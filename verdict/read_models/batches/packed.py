"""Decoded records on their way from the executors to the driver: many in one value.

What `event_archive` and `outcome` keep of a record is made here, too, where there are cores for it;
of a response nothing else is handed over. Nobody looks into them in between: columns of their own
would cost Spark's JVM, which makes rows of them and columns again, more than decoding costs Python.
What is packed is plain values, pickled: a record's own class is found again at the other end.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any

from verdict.application import current
from verdict.model.carried_state import CarriedState
from verdict.model.message import made_of
from verdict.model.recorded_event import RecordedEvent
from verdict.model.source import Source
from verdict.projection import outcome
from verdict.projection.archived_event import archived_event
from verdict.projection.batch import Carried, Delivery, Record, Unreadable
from verdict.wire.response import Response

PACKED = "deliveries"
PACKED_SCHEMA = f"{PACKED} binary"

RECORDS = 256  # in a chunk: so many stay in the processor's cache


PLACE = ("source.topic", "source.partition", "source.offset")


class _Plain:
    """The values of a record, in the order of its fields; instead of its source the three of it.

    Args:
        make: Returns the record of its values, a list in their order.
        names: Of its fields.
        last: The last one, when that is left to the caller.
    """

    def __init__(
        self, make: Callable[..., Any], names: Sequence[str], last: str | None = None
    ) -> None:
        if last is not None:
            *names, found = names
            if found != last:
                raise TypeError(f"{last} must stay the last field, not {found}")
        self._make = make
        at = names.index("source")
        self._place = slice(at, at + len(PLACE))
        self.values: Callable[[Any], tuple[Any, ...]] = attrgetter(
            *names[:at], *PLACE, *names[at + 1 :]
        )

    def record(self, values: tuple[Any, ...], *last: Any) -> Any:
        listed = [*values, *last]
        listed[self._place] = (Source(*values[self._place]),)
        return self._make(listed)


EVENT = _Plain(RecordedEvent._make, RecordedEvent._fields, "payload")


def packed(deliveries: Iterable[Delivery]) -> Iterator[bytes]:
    """Yield the deliveries in chunks of at most `RECORDS`."""
    rows = map(_row, deliveries)
    while some := [*islice(rows, RECORDS)]:
        yield pickle.dumps(some, pickle.HIGHEST_PROTOCOL)


def unpacked(chunk: bytes) -> Iterator[Delivery]:
    """Yield the deliveries in a chunk, which a task of our own packed: nothing else is safe."""
    for topic, partition, offset, kind, values, row in pickle.loads(chunk):
        yield Delivery(topic, partition, offset, RESTORE[kind](values), None, row)


def _row(delivery: Delivery) -> tuple[Any, ...]:
    record = delivery.record
    row: tuple[Any, ...] | None = None
    if isinstance(record, RecordedEvent):
        row = tuple(archived_event(delivery))
    elif isinstance(record, Response):
        row, record = tuple(outcome.row(record)), None
    kind = record.__class__
    return *delivery[:3], kind.__name__, VALUES[kind](record), row


def _event_row(event: RecordedEvent) -> tuple[Any, ...]:
    payload = event.payload
    kind = event.aggregate_type, type(payload).__name__
    return EVENT.values(event), kind, payload.__dict__


def _event(values: tuple[Any, ...]) -> RecordedEvent:
    plain, (aggregate_type, name), payload = values
    kind = current().aggregate(aggregate_type).event_types[name]
    event: RecordedEvent = EVENT.record(plain, made_of(kind, payload))
    return event


def _carried_row(carried: Carried) -> tuple[Any, ...]:
    state = carried.value
    if not isinstance(state, CarriedState):
        return carried.key, None, state
    return carried.key, type(state).__name__, state.model_dump_json()


def _carried(values: tuple[Any, ...]) -> Carried:
    key, name, state = values
    if name is None:
        return Carried(key, state)
    return Carried(key, current().state_types[name].model_validate_json(state))


VALUES: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    RecordedEvent: _event_row,
    type(None): lambda nothing: (),
    Carried: _carried_row,
    Unreadable: lambda unreadable: (unreadable.error,),
}
RESTORE: dict[str, Callable[[Any], Record | Unreadable | None]] = {
    RecordedEvent.__name__: _event,
    type(None).__name__: lambda values: None,
    Carried.__name__: _carried,
    Unreadable.__name__: lambda values: Unreadable(*values),
}

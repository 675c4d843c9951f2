"""Decoded records on their way from the executors to the driver: many in one value.

What `event_archive` keeps of an event is made here, too, where there are cores for it; an outcome
and a rejected command are rows already, and nothing else. Nobody looks into them in between:
columns of their own would cost Spark's JVM, which makes rows of them and columns again, more than
decoding costs Python. What is packed is plain values, pickled: a record's own class is found again
at the other end.
"""

import dataclasses
import pickle
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from verdict.model.application import Application
from verdict.model.exchange import StateRecord
from verdict.model.message import made_of
from verdict.model.recorded_event import RecordedEvent
from verdict.model.source import Source
from verdict.read_side.apply.batch import Delivery, Record, StateChange, UnreadableRecord
from verdict.read_side.projections.builtin.answered import OutcomeRow
from verdict.read_side.projections.builtin.archived_event import archived_event
from verdict.read_side.projections.builtin.rejected_command import RejectedCommand

PACKED = "deliveries"
PACKED_SCHEMA = f"{PACKED} binary"

RECORDS = 256  # in a chunk: so many stay in the processor's cache


new = tuple.__new__  # of a named tuple, whose own asks for each field
TYPE = RecordedEvent._fields.index("aggregate_type")
PAYLOAD = RecordedEvent._fields.index("payload")
SOURCE = RecordedEvent._fields.index("source")
BEHIND = SOURCE + len(dataclasses.fields(Source))
if RecordedEvent._fields[PAYLOAD + 1 :]:
    raise TypeError("payload must stay the last field")


def pack(deliveries: Iterable[Delivery]) -> Iterator[bytes]:
    """Yield the deliveries in chunks of at most `RECORDS`."""
    rows = map(_row, deliveries)
    while some := [*islice(rows, RECORDS)]:
        yield pickle.dumps(some, pickle.HIGHEST_PROTOCOL)


def unpack(application: Application, chunk: bytes) -> Iterator[Delivery]:
    """Yield the deliveries in a chunk, which a task of our own packed: nothing else is safe."""
    for topic, partition, offset, kind, values, row in pickle.loads(chunk):
        yield new(
            Delivery, (topic, partition, offset, RESTORE[kind](application, values), None, row)
        )


def _row(delivery: Delivery) -> tuple[Any, ...]:
    record = delivery.record
    row: tuple[Any, ...] | None = None
    if isinstance(record, RecordedEvent):
        row = tuple(archived_event(delivery))
    elif isinstance(record, OutcomeRow | RejectedCommand):
        row, record = tuple(record), None
    kind = record.__class__
    return *delivery[:3], kind.__name__, VALUES[kind](record), row


def _event_row(event: RecordedEvent) -> tuple[Any, ...]:
    """Return its values; instead of its source the three of it, and the payload as it is inside."""
    payload, source = event.payload, event.source
    place = source.topic, source.partition, source.offset
    plain = (*event[:SOURCE], *place, *event[SOURCE + 1 : PAYLOAD])
    return plain, type(payload).__name__, payload.__dict__


def _event(application: Application, values: tuple[Any, ...]) -> RecordedEvent:
    plain, name, payload = values
    kind = application.aggregate(plain[TYPE]).event_types[name]
    source = Source(*plain[SOURCE:BEHIND])
    whole = (*plain[:SOURCE], source, *plain[BEHIND:], made_of(kind, payload))
    return new(RecordedEvent, whole)


def _carried_row(carried: StateChange) -> tuple[Any, ...]:
    state = carried.value
    if not isinstance(state, StateRecord):
        return carried.key, None, state
    return carried.key, type(state).__name__, state.model_dump_json()


def _carried(application: Application, values: tuple[Any, ...]) -> StateChange:
    key, name, state = values
    if name is None:
        return StateChange(key, state)
    return StateChange(key, application.state_types[name].model_validate_json(state))


VALUES: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    RecordedEvent: _event_row,
    type(None): lambda nothing: (),
    StateChange: _carried_row,
    UnreadableRecord: lambda unreadable: (unreadable.error,),
}
RESTORE: dict[str, Callable[[Application, Any], Record | UnreadableRecord | None]] = {
    RecordedEvent.__name__: _event,
    type(None).__name__: lambda application, values: None,
    StateChange.__name__: _carried,
    UnreadableRecord.__name__: lambda application, values: UnreadableRecord(*values),
}

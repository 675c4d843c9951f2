"""Decoded records on their way from the executors to the driver: many in one value.

Nobody looks into them in between: columns of their own would cost Spark's JVM, which makes rows of
them and columns again, more than decoding costs Python. What is packed is plain values, pickled: a
record's own class is found again at the other end.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from itertools import islice
from operator import attrgetter
from typing import Any

from projections.engine.batch import Carried, Delivery, Record, Unreadable
from schemas.recorded_event import RecordedEvent
from schemas.registry import event_types
from schemas.response import Response
from schemas.share_holding import ShareHolding
from schemas.source import Source

PACKED = "deliveries"
PACKED_SCHEMA = f"{PACKED} binary"

RECORDS = 4096  # in a chunk


def _plain_fields(kind: type[Record], *special: str) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.name not in {"source", *special})


PLAIN_EVENT = _plain_fields(RecordedEvent, "payload")
PLAIN_RESPONSE = _plain_fields(Response)
OF_SOURCE = ("source.topic", "source.partition", "source.offset")

_event_values = attrgetter(*PLAIN_EVENT, *OF_SOURCE)
_response_values = attrgetter(*PLAIN_RESPONSE, *OF_SOURCE)


def packed(deliveries: Iterable[Delivery]) -> Iterator[bytes]:
    """Yield the deliveries in chunks of at most `RECORDS`."""
    rows = map(_row, deliveries)
    while some := [*islice(rows, RECORDS)]:
        yield pickle.dumps(some, pickle.HIGHEST_PROTOCOL)


def unpacked(chunk: bytes) -> Iterator[Delivery]:
    """Yield the deliveries in a chunk, which a task of our own packed: nothing else is safe.

    Raises:
        ValidationError: A payload is not what its event's class asks for.
    """
    for topic, partition, offset, value, kind, values in pickle.loads(chunk):
        yield Delivery(topic, partition, offset, RESTORE[kind](values), value)


def _row(delivery: Delivery) -> tuple[Any, ...]:
    kind = type(delivery.record)
    return *delivery[:3], delivery.value, kind.__name__, VALUES[kind](delivery.record)


def _event_row(event: RecordedEvent) -> tuple[Any, ...]:
    payload = event.payload
    return (*_event_values(event), type(payload).__name__, payload.model_dump_json())


def _event(values: tuple[Any, ...]) -> RecordedEvent:
    *plain, topic, partition, offset, event_type, payload = values
    known: dict[str, Any] = dict(zip(PLAIN_EVENT, plain, strict=True))
    cls = event_types(known["aggregate_type"])[event_type]
    source = Source(topic, partition, offset)
    return RecordedEvent(**known, source=source, payload=cls.model_validate_json(payload))


def _response(values: tuple[Any, ...]) -> Response:
    *plain, topic, partition, offset = values
    known: dict[str, Any] = dict(zip(PLAIN_RESPONSE, plain, strict=True))
    return Response(**known, source=Source(topic, partition, offset))


def _carried_row(carried: Carried) -> tuple[Any, ...]:
    return carried.key, carried.value and carried.value.model_dump_json()


def _carried(values: tuple[Any, ...]) -> Carried:
    key, payload = values
    value = None if payload is None else ShareHolding.model_validate_json(payload)
    return Carried(key, value)


VALUES: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    RecordedEvent: _event_row,
    Response: _response_values,
    Carried: _carried_row,
    Unreadable: lambda unreadable: (unreadable.error,),
}
RESTORE: dict[str, Callable[[tuple[Any, ...]], Record | Unreadable]] = {
    RecordedEvent.__name__: _event,
    Response.__name__: _response,
    Carried.__name__: _carried,
    Unreadable.__name__: lambda values: Unreadable(*values),
}

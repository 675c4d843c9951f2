"""Decoded records as flat columns, in which they travel from the executors to the driver.

All kinds share the columns, as a batch may be evaluated once only: what a record has not is null.
Of one that could not be decoded there are only its place and the `error`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic_core import from_json, to_json

from projections.engine.batch import Carried, Delivery, Record, Unreadable
from schemas.command_envelope import Expectation
from schemas.recorded_event import RecordedEvent
from schemas.registry import event_types
from schemas.response import Response
from schemas.share_holding import ShareHolding
from schemas.source import Source

FLAT_SCHEMA = (
    "topic string, partition int, offset bigint, error string, "
    # events, as their bytes are archived
    "value binary, "
    # states; the payload is JSON
    "carried_key string, "
    # both
    "command_id string, command_digest binary, correlation_id string, aggregate_type string, "
    "aggregate_id string, decided_at bigint, handler_version string, source_topic string, "
    "source_partition int, source_offset bigint, "
    # events; the payload is JSON
    "event_id string, version bigint, index bigint, count bigint, causation_id string, "
    "actor string, traceparent string, previous_hash binary, event_type string, payload string, "
    # responses; the details are JSON, the expected version is text
    "command_type string, status string, duplicate boolean, from_version bigint, "
    "to_version bigint, event_ids array<string>, reason string, message string, details string, "
    "expected_version string, actual_version bigint, actual_state string, retriable boolean"
)

ARROW_TYPES = {
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "array<string>": pa.list_(pa.string()),
}
ARROW_SCHEMA = pa.schema(
    [(name, ARROW_TYPES[kind]) for name, kind in map(str.split, FLAT_SCHEMA.split(", "))]
)

BESIDE = ("topic", "partition", "offset", "value")  # what a delivery has besides its record
SOURCE = ("source_topic", "source_partition", "source_offset")


def _plain_fields(kind: type[Record], *special: str) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.name not in {"source", *special})


PLAIN_EVENT = _plain_fields(RecordedEvent, "payload")
PLAIN_RESPONSE = _plain_fields(Response, "details", "expected_version")
OF_SOURCE = ("source.topic", "source.partition", "source.offset")

_event_values = attrgetter(*PLAIN_EVENT, *OF_SOURCE)
_response_values = attrgetter(*PLAIN_RESPONSE, *OF_SOURCE)


def to_flat(deliveries: Iterable[Delivery]) -> Iterator[pa.RecordBatch]:
    """Yield the deliveries as batches of `ARROW_SCHEMA`, one for each kind of record."""
    found: dict[type, list[tuple[Any, ...]]] = {kind: [] for kind in COLUMNS}
    for delivery in deliveries:
        record = delivery.record
        beside = (*delivery[:3], delivery.value)
        found[type(record)].append((*beside, *VALUES[type(record)](record)))
    for kind, rows in found.items():
        if rows:
            yield _record_batch((*BESIDE, *COLUMNS[kind]), rows)


def from_flat(table: pa.Table) -> Iterator[Delivery]:
    """Yield the deliveries in a table of `ARROW_SCHEMA`.

    Raises:
        ValidationError: A payload is not what its event's class asks for.
    """
    for kind, own in ONLY_ITS_OWN.items():
        mask = pc.is_valid(table[own])
        part = table.filter(mask).select([*BESIDE, *COLUMNS[kind]])
        columns = [column.to_pylist() for column in part.columns]
        restore = RESTORE[kind]
        for topic, partition, offset, value, *values in zip(*columns, strict=True):
            yield Delivery(topic, partition, offset, restore(values), value)


def _record_batch(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    known = dict(zip(names, zip(*rows, strict=True), strict=True))
    arrays = [
        pa.array(known[field.name], field.type)
        if field.name in known
        else pa.nulls(len(rows), field.type)
        for field in ARROW_SCHEMA
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=ARROW_SCHEMA)


def _event_row(event: RecordedEvent) -> tuple[Any, ...]:
    payload = event.payload
    return (*_event_values(event), type(payload).__name__, payload.model_dump_json())


def _response_row(response: Response) -> tuple[Any, ...]:
    expected = response.expected_version
    text = None if expected is None else str(expected)
    return (*_response_values(response), text, to_json(response.details).decode())


def _event(values: list[Any]) -> RecordedEvent:
    *plain, topic, partition, offset, event_type, payload = values
    known: dict[str, Any] = dict(zip(PLAIN_EVENT, plain, strict=True))
    cls = event_types(known["aggregate_type"])[event_type]
    source = Source(topic, partition, offset)
    return RecordedEvent(**known, source=source, payload=cls.model_validate_json(payload))


def _response(values: list[Any]) -> Response:
    *plain, topic, partition, offset, expected, details = values
    return Response(
        **dict(zip(PLAIN_RESPONSE, plain, strict=True)),
        source=Source(topic, partition, offset),
        expected_version=_expectation(expected),
        details=from_json(details),
    )


def _carried_row(carried: Carried) -> tuple[Any, ...]:
    return carried.key, carried.value and carried.value.model_dump_json()


def _carried(values: list[Any]) -> Carried:
    key, payload = values
    value = None if payload is None else ShareHolding.model_validate_json(payload)
    return Carried(key, value)


def _expectation(text: str | None) -> int | Expectation | None:
    if text is None:
        return None
    return int(text) if text.isdigit() else Expectation(text)


COLUMNS: dict[type, tuple[str, ...]] = {
    RecordedEvent: (*PLAIN_EVENT, *SOURCE, "event_type", "payload"),
    Response: (*PLAIN_RESPONSE, *SOURCE, "expected_version", "details"),
    Carried: ("carried_key", "payload"),
    Unreadable: ("error",),
}
# a column that no other kind has, and that is never null in this one
ONLY_ITS_OWN: dict[type, str] = {
    RecordedEvent: "event_id",
    Response: "status",
    Carried: "carried_key",
    Unreadable: "error",
}
VALUES: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    RecordedEvent: _event_row,
    Response: _response_row,
    Carried: _carried_row,
    Unreadable: lambda unreadable: (unreadable.error,),
}
RESTORE: dict[type, Callable[[list[Any]], Record | Unreadable]] = {
    RecordedEvent: _event,
    Response: _response,
    Carried: _carried,
    Unreadable: lambda values: Unreadable(*values),
}

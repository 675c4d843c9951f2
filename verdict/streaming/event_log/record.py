"""A record of Kafka and an event as values, wherever they were read."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Message

from verdict.model.source import Source
from verdict.wire.catalog import AggregateContext
from verdict.wire.records import decode_event
from verdict.wire.stored_event import InvalidHistoryError, StoredEvent

PAGE = 1000  # records in memory at a time: one may have a megabyte


class RawRecord(NamedTuple):
    """A record that is in a partition of Kafka, or was."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None

    @property
    def source(self) -> Source:
        """Its position."""
        return Source(self.topic, self.partition, self.offset)


class PositionedEvent(NamedTuple):
    """An event with its position in Kafka; `content` is a text if the event cannot be used."""

    place: Source
    aggregate_id: str
    version: int
    content: StoredEvent | str

    @property
    def stored(self) -> StoredEvent:
        """The event; raises InvalidHistoryError if it cannot be used."""
        if isinstance(self.content, str):
            raise InvalidHistoryError(self.content)
        return self.content


def event_in(context: AggregateContext, aggregate_id: str, value: bytes) -> StoredEvent | str:
    """Return the event in a record of an aggregate, or what is wrong with it."""
    aggregate_type = context.name
    try:
        event = decode_event(context, value)
    except ValueError as error:  # undecodable, or against the rules that its class states today
        return f"a record of {aggregate_type} {aggregate_id!r} cannot be read: {error}"
    if (event.aggregate_type, event.aggregate_id) != (aggregate_type, aggregate_id):
        found = f"{event.aggregate_type} {event.aggregate_id!r}"
        return f"a record of {aggregate_type} {aggregate_id!r} holds an event of {found}"
    return StoredEvent(event, value)


def positioned_event(context: AggregateContext, found: RawRecord) -> PositionedEvent:
    """Return the event in a record, or what is wrong with it; it is its key's in any case."""
    aggregate_id = (found.key or b"").decode(errors="backslashreplace")
    content = event_in(context, aggregate_id, found.value or b"")
    if isinstance(content, str):
        return PositionedEvent(found.source, aggregate_id, 0, f"{found.source}: {content}")
    return PositionedEvent(found.source, aggregate_id, content.event.version, content)


def raw_record(message: Message) -> RawRecord:
    """Return a message of Kafka's client as a value."""
    key, value = message.key(), message.value()
    place = str(message.topic()), message.partition() or 0, message.offset() or 0
    return RawRecord(*place, key, value)


def write_parquet(records: Iterator[RawRecord], file: Path) -> None:
    """Write records as Parquet, a page at a time: Spark has no driver for the database."""
    import pyarrow as pa  # other readers of the log need no Arrow
    import pyarrow.parquet as pq

    types = pa.string(), pa.int32(), pa.int64(), pa.binary(), pa.binary()
    columns = pa.schema([*zip(RawRecord._fields, types, strict=True)])
    with file.open("wb") as content, pq.ParquetWriter(content, columns) as writer:
        while page := [*islice(records, PAGE)]:
            values = [*map(list, zip(*page, strict=True))]
            writer.write_table(pa.table(values, schema=columns))

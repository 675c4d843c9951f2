"""Kafka's bytes in, decoded records out: a pure function from DataFrame to DataFrame.

Records travel from the executors to the driver many in one value. What `event_archive` keeps of an
event is made on the executors too, where there are cores for it; an outcome and a rejected command
are rows already. Nothing in between looks into them: columns of their own would cost Spark's JVM,
which makes rows of them and columns again, more than decoding costs Python. What is packed is plain
values, pickled: a record's own class is found again in the driver.
"""

import dataclasses
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, starmap
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from verdict.adapters.spark.gc import spare_imports
from verdict.model.application import Application
from verdict.model.exchange import StateRecord
from verdict.model.message import made_of
from verdict.model.recorded_event import RecordedEvent
from verdict.model.source import Source
from verdict.read_side.apply.batch import Delivery, Record, StateChange, UnreadableRecord
from verdict.read_side.live.decoding import RecordDecoder
from verdict.read_side.projections.builtin.rows import OutcomeRow, RejectedCommand, archived_event
from verdict.wire.topics import Topics

KAFKA_COLUMNS = ("topic", "partition", "offset", "key", "value")
TASK_BYTES = 24 * 2**20  # that one task may hand over; the JVM collects those of all tasks
PACKED = "deliveries"
PACKED_SCHEMA = f"{PACKED} binary"
RECORDS = 256  # in a chunk: so many stay in the processor's cache

new = tuple.__new__  # of a named tuple, whose own asks for each field
TYPE = RecordedEvent._fields.index("aggregate_type")
PAYLOAD = RecordedEvent._fields.index("payload")
SOURCE = RecordedEvent._fields.index("source")
AFTER_SOURCE = SOURCE + len(dataclasses.fields(Source))
if RecordedEvent._fields[PAYLOAD + 1 :]:
    raise TypeError("payload must stay the last field")


class BatchTooLargeError(Exception):
    """A task has more to hand over than the JVM and the driver can be asked to hold."""


def decode_batch(records: DataFrame, topics: Topics, task_bytes: int = TASK_BYTES) -> DataFrame:
    """Decode events, responses and states of topics, on the executors."""
    # a task for each of Kafka's partitions would cost more than most batches do
    tasks = records.sparkSession.sparkContext.defaultParallelism
    few = records.select(*KAFKA_COLUMNS).coalesce(tasks)
    return few.mapInArrow(Decoder(topics, task_bytes), PACKED_SCHEMA)


@dataclass(frozen=True)
class Decoder(RecordDecoder):
    """Decodes the record batches of one task."""

    task_bytes: int = TASK_BYTES

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the records of `batches`, whose columns are `KAFKA_COLUMNS`."""
        spare_imports()
        size = 0
        for chunk in pack(self.deliveries(batches)):
            size += len(chunk)
            if size > self.task_bytes:
                raise BatchTooLargeError(f"{size} bytes, {self.task_bytes} may be handed over")
            yield pa.RecordBatch.from_arrays([pa.array([chunk], pa.binary())], names=[PACKED])

    def deliveries(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Delivery]:
        """Yield the records of `batches`, as `delivery` does."""
        for batch in batches:
            columns = (batch.column(name).to_pylist() for name in KAFKA_COLUMNS)
            yield from starmap(self.delivery, zip(*columns, strict=True))


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


def _event_values(event: RecordedEvent) -> tuple[Any, ...]:
    """Return its values; instead of its source the three of it, and the payload as it is inside."""
    payload, source = event.payload, event.source
    place = source.topic, source.partition, source.offset
    plain = (*event[:SOURCE], *place, *event[SOURCE + 1 : PAYLOAD])
    return plain, type(payload).__name__, payload.__dict__


def _event(application: Application, values: tuple[Any, ...]) -> RecordedEvent:
    plain, name, payload = values
    kind = application.aggregate(plain[TYPE]).event_types[name]
    source = Source(*plain[SOURCE:AFTER_SOURCE])
    whole = (*plain[:SOURCE], source, *plain[AFTER_SOURCE:], made_of(kind, payload))
    return new(RecordedEvent, whole)


def _state_values(change: StateChange) -> tuple[Any, ...]:
    state = change.value
    if not isinstance(state, StateRecord):
        return change.key, None, state
    return change.key, type(state).__name__, state.model_dump_json()


def _state(application: Application, values: tuple[Any, ...]) -> StateChange:
    key, name, state = values
    if name is None:
        return StateChange(key, state)
    return StateChange(key, application.state_types[name].model_validate_json(state))


VALUES: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    RecordedEvent: _event_values,
    type(None): lambda nothing: (),
    StateChange: _state_values,
    UnreadableRecord: lambda unreadable: (unreadable.error,),
}
RESTORE: dict[str, Callable[[Application, Any], Record | UnreadableRecord | None]] = {
    RecordedEvent.__name__: _event,
    type(None).__name__: lambda application, values: None,
    StateChange.__name__: _state,
    UnreadableRecord.__name__: lambda application, values: UnreadableRecord(*values),
}

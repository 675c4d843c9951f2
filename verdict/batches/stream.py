"""Kafka's bytes in, decoded records out: a pure function from DataFrame to DataFrame."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import starmap

import pyarrow as pa
from pydantic import TypeAdapter, ValidationError
from pyspark.sql import DataFrame

from verdict.batches.packed import PACKED, PACKED_SCHEMA, packed
from verdict.model.message import Name
from verdict.model.recorded_event import RecordedEvent
from verdict.operator.collector import spare_imports
from verdict.projection.batch import Carried, Delivery, Record, Unreadable
from verdict.wire.records import decode, decode_event
from verdict.wire.response import Response
from verdict.wire.share_holding import ShareHolding
from verdict.wire.topics import Topics

KAFKA_COLUMNS = ("topic", "partition", "offset", "key", "value")
SHOWN_CHARS = 500
TASK_BYTES = 16 * 2**20  # that one task may hand over; the JVM collects those of all tasks
NO_ID = "no id: "
HEX_BYTES = 64  # of a key; of a longer one its hash is as good a name

name_rule: TypeAdapter[str] = TypeAdapter(Name)


class TooManyBytes(Exception):
    """A task has more to hand over than the JVM and the driver can be asked to hold."""


def decoded(records: DataFrame, topics: Topics, task_bytes: int = TASK_BYTES) -> DataFrame:
    """Decode events, responses and carried states, on the executors.

    Args:
        records: Kafka's columns: `key BINARY`, `value BINARY`, `topic STRING`, `partition INT`,
            `offset BIGINT`, of the topics that projections follow.
        topics: Of the deployment.
        task_bytes: A task with more than that fails with TooManyBytes: ask for fewer records.

    Returns:
        `PACKED_SCHEMA`: some hundred records in a row, for `packed.unpacked`. What cannot be
        decoded is there too, with the reason.
    """
    # a task for each of Kafka's partitions would cost more than most batches do
    tasks = records.sparkSession.sparkContext.defaultParallelism
    few = records.select(*KAFKA_COLUMNS).coalesce(tasks)
    return few.mapInArrow(Decoder(topics, task_bytes), PACKED_SCHEMA)


@dataclass(frozen=True)
class Decoder:
    """Decodes the record batches of one task."""

    topics: Topics
    task_bytes: int = TASK_BYTES

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the records of `batches`, whose columns are `KAFKA_COLUMNS`.

        Raises:
            TooManyBytes: They are more than one task may hand over.
        """
        spare_imports()
        size = 0
        for chunk in packed(self.deliveries(batches)):
            size += len(chunk)
            if size > self.task_bytes:
                raise TooManyBytes(f"{size} bytes, {self.task_bytes} may be handed over")
            yield pa.RecordBatch.from_arrays([pa.array([chunk], pa.binary())], names=[PACKED])

    def deliveries(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Delivery]:
        """Yield the records of `batches`, as `delivery` does."""
        for batch in batches:
            columns = (batch.column(name).to_pylist() for name in KAFKA_COLUMNS)
            yield from starmap(self.delivery, zip(*columns, strict=True))

    def delivery(
        self, topic: str, partition: int, offset: int, key: bytes | None, value: bytes | None
    ) -> Delivery:
        """Return one of Kafka's records decoded, or with the reason why it cannot be."""
        record = self._readable(topic, key, value)
        kept = value if isinstance(record, RecordedEvent) else None
        return Delivery(topic, partition, offset, record, kept)

    def _readable(self, topic: str, key: bytes | None, value: bytes | None) -> Record | Unreadable:
        try:
            return self._record(topic, key, value)
        except Exception as error:  # a bug or tampering, for the driver to report with the place
            return _unreadable(error)

    def _record(self, topic: str, key: bytes | None, value: bytes | None) -> Record:
        if topic == self.topics.share_holders:
            return _carried(key, value)
        if value is None:
            raise ValueError("the record has no value")
        aggregate_type = self.topics.aggregate_of(topic)
        record: RecordedEvent | Response = (
            decode_event(aggregate_type, value)
            if topic == self.topics.events(aggregate_type)
            else decode(Response, value)
        )
        if (record.aggregate_type, record.aggregate_id.encode()) != (aggregate_type, key):
            raise ValueError(
                f"the record is of {record.aggregate_type} {record.aggregate_id!r}, its place is "
                f"that of {aggregate_type} {key!r}"
            )
        return record


def _carried(key: bytes | None, value: bytes | None) -> Carried:
    """Return a state by its key, also when only the key can be told.

    Raises:
        ValueError: There is no key, which Kafka refuses on a compacted topic.
    """
    if key is None:
        raise ValueError("the record has no key")
    name = _name(key)
    if value is None:
        return Carried(name, None)
    try:
        return Carried(name, _holding(name, key, value))
    except Exception as error:  # whatever it is, it concerns this key alone
        return Carried(name, _unreadable(error))


def _name(key: bytes) -> str:
    """Return the id that a key is; of a key that is none, a name that no id has."""
    try:
        name = name_rule.validate_python(key)
        if not name.startswith(NO_ID):
            return name
    except ValidationError:
        pass
    if len(key) <= HEX_BYTES:
        return f"{NO_ID}0x{key.hex()}"
    return f"{NO_ID}SHA-256 {sha256(key).hexdigest()}"


def _holding(name: str, key: bytes, value: bytes) -> ShareHolding:
    if name.startswith(NO_ID):
        raise ValueError(f"the key {key!r} is no id")
    holding = ShareHolding.model_validate_json(value)
    if holding.id != name:
        raise ValueError(f"the state is that of {holding.id!r}, its key is {name!r}")
    return holding


def _unreadable(error: Exception) -> Unreadable:
    return Unreadable(f"{type(error).__name__}: {error}"[:SHOWN_CHARS])

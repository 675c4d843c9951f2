"""Kafka's bytes in, decoded records out: a pure function from DataFrame to DataFrame."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import starmap

import pyarrow as pa
from pyspark.sql import DataFrame

from verdict.adapters.spark.gc import spare_imports
from verdict.read_side.apply.batch import Delivery
from verdict.read_side.live.decoding import RecordDecoder
from verdict.read_side.live.packed_rows import PACKED, PACKED_SCHEMA, pack
from verdict.wire.topics import Topics

KAFKA_COLUMNS = ("topic", "partition", "offset", "key", "value")
TASK_BYTES = 24 * 2**20  # that one task may hand over; the JVM collects those of all tasks


class BatchTooLargeError(Exception):
    """A task has more to hand over than the JVM and the driver can be asked to hold."""


def decode_batch(records: DataFrame, topics: Topics, task_bytes: int = TASK_BYTES) -> DataFrame:
    """Decode events, responses and carried states, on the executors."""
    # a task for each of Kafka's partitions would cost more than most batches do
    tasks = records.sparkSession.sparkContext.defaultParallelism
    few = records.select(*KAFKA_COLUMNS).coalesce(tasks)
    return few.mapInArrow(Decoder(topics, task_bytes), PACKED_SCHEMA)


@dataclass(frozen=True)
class Decoder(RecordDecoder):
    """Decodes the record batches of one task."""

    task_bytes: int = TASK_BYTES

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the records of `batches`, whose columns are `KAFKA_COLUMNS`.

        Raises:
            BatchTooLargeError: They are more than one task may hand over.
        """
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

"""The final rows of a projection, folded on Spark's executors from a whole log.

Spark brings all records of a key together, sorted, on its own disk when they are many; so a row is
folded in one pass, by the projection's own functions, and no state is kept but that of a few keys.
Each task writes its rows into a file: Spark's JVM would make rows of columns and columns again.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, starmap
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic_core import from_json, to_json
from pyspark.sql import DataFrame
from sqlalchemy import BigInteger, Boolean, LargeBinary, Table, Text

from verdict.adapters.spark.gc import spare_imports
from verdict.adapters.sql.column_types import InstantType
from verdict.read_side.apply.batch import Delivery, UnreadableRecord
from verdict.read_side.apply.overrides import amended
from verdict.read_side.live.decoding import RecordDecoder
from verdict.read_side.projections.projection import (
    Builder,
    BuiltRow,
    CannotApplyError,
    Gap,
    readable,
)
from verdict.read_side.tables.interventions import Amendments

ROWS = 10_000  # at a time
FILE = "file"
ARROW = {
    Text: pa.string(),
    BigInteger: pa.int64(),
    InstantType: pa.int64(),
    Boolean: pa.bool_(),
    LargeBinary: pa.binary(),
}
ERROR, GAP = "error", "gap"  # columns next to those of the table
KAFKA_COLUMNS = ("topic", "partition", "offset", "key", "value")
ORDER = ("key", "topic", "partition", "offset")


@dataclass(frozen=True)
class FinalRows:
    """What one task does, from Kafka's columns to a file, of which it yields the name.

    The file has the table's columns, times in epoch milliseconds, and two more, mostly null: `gap`,
    for `gap_of`, of an aggregate that waits for a missing event or whose newest state is faulty
    (there may be no row then); and `error`, of a task that stopped at a record, without a row.
    """

    decoder: RecordDecoder
    builder: Builder
    schema: pa.Schema
    in_force: Amendments
    folder: Path

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        spare_imports()
        records = amended(self._deliveries(batches), self.in_force)
        file = self.folder / f"{uuid4()}.parquet"
        with pq.ParquetWriter(file, self.schema) as writer:
            for rows in self._rows(self.builder(readable(records))):
                writer.write_batch(rows)
        yield pa.RecordBatch.from_pydict({FILE: [str(file)]})

    def _deliveries(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Delivery]:
        for batch in batches:
            columns = (batch.column(name).to_pylist() for name in KAFKA_COLUMNS)
            yield from starmap(self.decoder.delivery, zip(*columns, strict=True))

    def _rows(self, built: Iterator[BuiltRow]) -> Iterator[pa.RecordBatch]:
        try:
            while some := [*islice(built, ROWS)]:
                yield self._batch(some)
        except CannotApplyError as error:
            yield pa.RecordBatch.from_pylist([{ERROR: str(error)}], self.schema)

    def _batch(self, built: Sequence[BuiltRow]) -> pa.RecordBatch:
        names = self.builder.columns
        nothing = (None,) * len(names)
        rows = (nothing if one.values is None else one.values for one in built)
        columns = dict(zip(names, zip(*rows, strict=True), strict=True))
        columns[GAP] = tuple(one.gap and _gap_text(one.gap) for one in built)
        columns[ERROR] = (None,) * len(built)
        return pa.RecordBatch.from_pydict(columns, self.schema)


def fold_into_files(records: DataFrame, task: FinalRows, partitions: int) -> list[str]:
    """Fold all records, and return the files with the rows."""
    arranged = records.select(*KAFKA_COLUMNS)
    if task.builder.by_key:
        arranged = arranged.repartition(partitions, "key").sortWithinPartitions(*ORDER)
    return [file for (file,) in arranged.mapInArrow(task, f"{FILE} string").collect()]


def schema_of(table: Table) -> pa.Schema:
    """Return the schema of the files."""
    kinds = {column.name: ARROW[type(column.type)] for column in table.columns}
    return pa.schema([*kinds.items(), (GAP, pa.string()), (ERROR, pa.string())])


def gap_of(text: str) -> Gap:
    """Return the gap in a `gap` column."""
    aggregate_type, name, needed, seen, fault = from_json(text)
    return Gap(aggregate_type, name, needed, seen, fault and _fault_of(*fault))


def _gap_text(gap: Gap) -> str:
    fault = gap.fault and (*gap.fault.delivery[:3], gap.fault.problem)
    known = gap.aggregate_type, gap.aggregate_id, gap.version_needed, gap.version_seen
    return to_json((*known, fault)).decode()


def _fault_of(topic: str, partition: int, offset: int, problem: str) -> CannotApplyError:
    return CannotApplyError(Delivery(topic, partition, offset, UnreadableRecord(problem)), problem)

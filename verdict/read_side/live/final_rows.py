"""A whole log in, the final rows of a projection out: a pure function from DataFrame to DataFrame.

Spark brings all records of a key together, sorted, on its own disk when they are many; so a row is
folded in one pass, by the projection's own functions, and no state is kept but that of a few keys.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa
from pydantic_core import from_json, to_json
from pyspark.sql import DataFrame
from sqlalchemy import BigInteger, Boolean, LargeBinary, Table, Text

from verdict.adapters.spark.gc import spare_imports
from verdict.adapters.sql.instant import InstantType
from verdict.read_side.apply.batch import Delivery, UnreadableRecord
from verdict.read_side.apply.overrides import amended
from verdict.read_side.live.stream import KAFKA_COLUMNS, Decoder
from verdict.read_side.projections.builder import Builder, BuiltRows, readable
from verdict.read_side.projections.projection import CannotApplyError, Gap
from verdict.read_side.tables.interventions import Amendments
from verdict.wire.topics import Topics

ROWS = 10_000  # in a chunk
CHUNK = "rows"
CHUNK_SCHEMA = f"{CHUNK} binary"
ARROW = {
    Text: pa.string(),
    BigInteger: pa.int64(),
    InstantType: pa.int64(),
    Boolean: pa.bool_(),
    LargeBinary: pa.binary(),
}
ERROR, GAP = "error", "gap"  # beside the table's columns
ORDER = ("key", "topic", "partition", "offset")


def final_rows(
    records: DataFrame,
    topics: Topics,
    table: Table,
    builder: Builder,
    partitions: int,
    in_force: Amendments,
) -> DataFrame:
    """Fold all records to what the first table of a projection holds of them."""
    arranged = records.select(*KAFKA_COLUMNS)
    if builder.by_key:
        arranged = arranged.repartition(partitions, "key").sortWithinPartitions(*ORDER)
    task = FinalRows(Decoder(topics), builder, schema_of(table), in_force)
    return arranged.mapInArrow(task, CHUNK_SCHEMA)


def opened(chunk: pa.Buffer) -> pa.RecordBatch:
    """Return the rows in a chunk.

    They have the table's columns, times in epoch milliseconds, and two more, mostly null: `gap`,
    for `gap_of`, of an aggregate that waits for a missing event or whose newest state is at fault
    (there may be no row then); and `error`, of a task that stopped at a record, without a row.
    """
    with pa.ipc.open_stream(chunk) as stream:
        return stream.read_next_batch()


def gap_of(text: str) -> Gap:
    """Return the gap that a `gap` column tells of."""
    aggregate_type, name, needed, seen, fault = from_json(text)
    return Gap(aggregate_type, name, needed, seen, fault and _fault_of(*fault))


def _gap_text(gap: Gap) -> str:
    fault = gap.fault and (*gap.fault.delivery[:3], gap.fault.problem)
    known = gap.aggregate_type, gap.aggregate_id, gap.version_needed, gap.version_seen
    return to_json((*known, fault)).decode()


def _fault_of(topic: str, partition: int, offset: int, problem: str) -> CannotApplyError:
    return CannotApplyError(Delivery(topic, partition, offset, UnreadableRecord(problem)), problem)


@dataclass(frozen=True)
class FinalRows:
    """What one task does, from Kafka's columns to chunks; the arguments are those of `final_rows`.

    The records of a key come together, in the order of their offsets, if the builder wants that.
    """

    decoder: Decoder
    builder: Builder
    schema: pa.Schema
    in_force: Amendments

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield chunks; the last one tells of a record at which the task had to stop."""
        spare_imports()
        records = amended(self.decoder.deliveries(batches), self.in_force)
        built = self.builder(readable(records))
        for rows in self._rows(built):
            chunk = pa.array([self._chunk(rows)], pa.binary())
            yield pa.RecordBatch.from_arrays([chunk], names=[CHUNK])

    def _rows(self, built: Iterator[BuiltRows]) -> Iterator[pa.RecordBatch]:
        try:
            while some := [*islice(built, ROWS)]:
                yield self._batch(some)
        except CannotApplyError as error:
            yield pa.RecordBatch.from_pylist([{ERROR: str(error)}], self.schema)

    def _batch(self, built: Sequence[BuiltRows]) -> pa.RecordBatch:
        names = self.builder.columns
        nothing = (None,) * len(names)
        rows = (nothing if one.values is None else one.values for one in built)
        columns = dict(zip(names, zip(*rows, strict=True), strict=True))
        columns[GAP] = tuple(one.gap and _gap_text(one.gap) for one in built)
        columns[ERROR] = (None,) * len(built)
        return pa.RecordBatch.from_pydict(columns, self.schema)

    def _chunk(self, rows: pa.RecordBatch) -> bytes:
        written = pa.BufferOutputStream()
        with pa.ipc.new_stream(written, self.schema) as stream:
            stream.write_batch(rows)
        return bytes(written.getvalue())


def schema_of(table: Table) -> pa.Schema:
    """Return the schema of the rows in a chunk."""
    kinds = {column.name: ARROW[type(column.type)] for column in table.columns}
    return pa.schema([*kinds.items(), (GAP, pa.string()), (ERROR, pa.string())])

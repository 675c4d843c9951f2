"""A whole log in, the final rows of a projection out: a pure function from DataFrame to DataFrame.

Spark brings all records of a key together, sorted, on its own disk when they are many; so a row is
folded in one pass, by the projection's own functions, and no state is kept but that of one key.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
from pydantic_core import from_json, to_json
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType
from sqlalchemy import BigInteger, Boolean, LargeBinary, Table, Text

from projections.engine.amended import amended
from projections.engine.builder import Builder, Built, readable
from projections.engine.instant import InstantType
from projections.engine.intervention import Amendments
from projections.engine.projection import Gap, Unprojectable
from projections.stream import KAFKA_COLUMNS, Decoder
from schemas.collector import spare_imports
from schemas.topics import Topics

ROWS = 5_000  # in an Arrow batch
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
    """Fold all records to what the first table of a projection holds of them.

    Args:
        records: Kafka's columns, as for `stream.decoded`; everything that the projection follows.
        topics: Of the deployment.
        table: The first one of the projection.
        builder: The projection's.
        partitions: Into how many tasks keys are spread.
        in_force: What people decided about events, for this projection.

    Returns:
        The table's columns, times in epoch milliseconds, and two more, mostly null: `gap`, for
        `gap_of`, of an aggregate that waits for a missing event (there may be no row then); and
        `error`, of a task that stopped at a record, without a row.
    """
    schema = _schema(table)
    arranged = records.select(*KAFKA_COLUMNS)
    if builder.by_key:
        arranged = arranged.repartition(partitions, "key").sortWithinPartitions(*ORDER)
    return arranged.mapInArrow(_Task(Decoder(topics), builder, schema, in_force), _of_spark(schema))


def gap_of(text: str) -> Gap:
    """Return the gap that a `gap` column tells of."""
    return Gap(**from_json(text))


@dataclass(frozen=True)
class _Task:
    decoder: Decoder
    builder: Builder
    schema: pa.Schema
    in_force: Amendments

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        spare_imports()
        records = amended(self.decoder.deliveries(batches), self.in_force)
        built = self.builder(readable(records))
        try:
            while some := [*islice(built, ROWS)]:
                yield self._batch(some)
        except Unprojectable as error:
            yield pa.RecordBatch.from_pylist([{ERROR: str(error)}], self.schema)

    def _batch(self, built: Iterable[Built]) -> pa.RecordBatch:
        rows = [self._row(one) for one in built]
        columns = zip(*rows, strict=True)
        arrays = [
            pa.array(values, kind) for values, kind in zip(columns, self.schema.types, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _row(self, built: Built) -> list[Any]:
        values = built.values or {}
        gap = None if built.gap is None else to_json(built.gap).decode()
        return [*map(values.get, self.schema.names[:-2]), gap, None]


def _schema(table: Table) -> pa.Schema:
    kinds = {column.name: ARROW[type(column.type)] for column in table.columns}
    return pa.schema([*kinds.items(), (GAP, pa.string()), (ERROR, pa.string())])


def _of_spark(schema: pa.Schema) -> StructType:
    return from_arrow_schema(schema)

"""Kafka's records in, rows of the lake out: a function from DataFrame to DataFrame."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from projections.outbound.invoice_line import COLUMNS, invoice_lines
from verdict.decision.received import CommandRecord, dead_letter
from verdict.exactly_once.lake_query import AGGREGATE
from verdict.operator.collector import spare_imports
from verdict.operator.stream import bounded
from verdict.processing.records import records_in
from verdict.wire.records import decode_event, encode
from verdict.wire.topics import OUTPUT_BYTES

LETTER = "letter"
ROWS_AT_ONCE = 5_000

SCHEMA = ", ".join(
    [
        *(f"{one.name} {one.type} COMMENT '{one.holds}'" for one in COLUMNS),
        f"{LETTER} BINARY",
    ]
)
ARROW = {
    "STRING": pa.string(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
}
LAYOUT = pa.schema(
    [*((one.name, ARROW[one.type]) for one in COLUMNS), (LETTER, pa.binary())],
)


def lines(records: DataFrame) -> DataFrame:
    """Return a row per line item.

    Args:
        records: Kafka's columns, with `timestamp TIMESTAMP`, of the topic `invoice.events`.

    Returns:
        `SCHEMA`: a row of `COLUMNS`, or in `LETTER` the dead letter, encoded, of a record of which
        no row can be made.
    """
    # a task for each of Kafka's partitions would make as many files of every day
    tasks = records.sparkSession.sparkContext.defaultParallelism
    return bounded(records, OUTPUT_BYTES).coalesce(tasks).mapInArrow(Flattening(), SCHEMA)


@dataclass(frozen=True)
class Flattening:
    """Makes rows of the records of one task."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield rows of `SCHEMA` for batches whose columns are `INPUT_COLUMNS`."""
        spare_imports()
        rows = (row for record in records_in(batches) for row in rows_of(record))
        while some := list(islice(rows, ROWS_AT_ONCE)):
            yield pa.RecordBatch.from_pylist(some, LAYOUT)


def rows_of(record: CommandRecord) -> Iterable[dict[str, Any]]:
    """Return the rows of one record: all of its lines, or one with a letter."""
    try:
        if record.value is None or record.cut:
            raise ValueError("it has no value, or one that was cut")
        return list(invoice_lines(decode_event(AGGREGATE, record.value), record.source))
    except Exception as error:  # a bug or tampering: the letter says where, the others go on
        told = f"no row for the lake: {type(error).__name__}: {error}"
        return [{LETTER: encode(dead_letter(record, told))}]

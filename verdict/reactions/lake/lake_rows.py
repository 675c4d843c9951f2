"""Kafka's records in, rows of the lake out: a function from DataFrame to DataFrame."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from verdict.adapters.spark.gc import spare_imports
from verdict.model.integration import LakeTable
from verdict.wire.catalog import AggregateContext
from verdict.wire.command_record import CommandRecord, dead_letter, records_in
from verdict.wire.error_text import error_text
from verdict.wire.records import decode_event, encode
from verdict.wire.topics import OUTPUT_BYTES
from verdict.write_side.processor.spark_plan import bounded

LETTER = "letter"
ROWS_AT_ONCE = 5_000

ARROW = {
    "STRING": pa.string(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
}


def lines(records: DataFrame, table: LakeTable, context: AggregateContext) -> DataFrame:
    """Return the rows of the lake."""
    # a task for each of Kafka's partitions would make as many files of every day
    tasks = records.sparkSession.sparkContext.defaultParallelism
    few = bounded(records, OUTPUT_BYTES).coalesce(tasks)
    columns = (f"{one.name} {one.type} COMMENT '{one.holds}'" for one in table.columns)
    schema = ", ".join([*columns, f"{LETTER} BINARY"])
    return few.mapInArrow(partial(_rows, table=table, context=context), schema)


def _rows(
    batches: Iterator[pa.RecordBatch], table: LakeTable, context: AggregateContext
) -> Iterator[pa.RecordBatch]:
    """Yield the rows that one task makes of batches whose columns are `INPUT_COLUMNS`."""
    spare_imports()
    columns = [(one.name, ARROW[one.type]) for one in table.columns]
    schema = pa.schema([*columns, (LETTER, pa.binary())])
    rows = chain.from_iterable(_rows_of(one, table, context) for one in records_in(batches))
    while some := list(islice(rows, ROWS_AT_ONCE)):
        yield pa.RecordBatch.from_pylist(some, schema)


def _rows_of(
    record: CommandRecord, table: LakeTable, context: AggregateContext
) -> Iterable[Mapping[str, Any]]:
    """Return the rows of one record: all that are made of it, or one with a letter."""
    try:
        if record.value is None or record.cut:
            raise ValueError("it has no value, or one that was cut")
        return list(table.rows(decode_event(context, record.value), record.source))
    except Exception as error:  # a bug or tampering: the letter says where, the others go on
        problem = f"no row for the lake: {error_text(error)}"
        return [{LETTER: encode(dead_letter(record, problem))}]

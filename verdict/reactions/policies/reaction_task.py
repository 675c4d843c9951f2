"""Kafka's records in, outputs to publish out: a function from DataFrame to DataFrame."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from verdict.adapters.spark.gc import spare_imports
from verdict.reactions.policies.reaction import Reactions
from verdict.streaming.exactly_once.output_chunks import chunks
from verdict.streaming.exactly_once.outputs import Handover
from verdict.wire.command_record import records_in
from verdict.wire.dead_letter_record import RETRY_POLICY
from verdict.wire.topics import KEY_BYTES, OUTPUT_BYTES
from verdict.write_side.processor.outputs import OUTPUT_SCHEMA
from verdict.write_side.processor.spark_plan import bounded, header

REACTION = "reaction"
LAYOUT = pa.schema([("outputs", pa.binary()), ("file", pa.string())])


def followed(
    records: DataFrame, reactions: Reactions, max_command_bytes: int, folder: Path
) -> DataFrame:
    """Return what follows from every record, in the records' order."""
    sent = F.col("topic").isin(reactions.topics.inbound)
    limit = F.when(sent, max_command_bytes).otherwise(OUTPUT_BYTES)
    # a task for each of Kafka's partitions would cost more than most batches do
    tasks = records.sparkSession.sparkContext.defaultParallelism
    return (
        bounded(records, limit, F.substring(header(RETRY_POLICY), 1, KEY_BYTES).alias(REACTION))
        .coalesce(tasks)
        .mapInArrow(partial(_outputs, reactions=reactions, folder=folder), OUTPUT_SCHEMA)
    )


def _outputs(
    batches: Iterator[pa.RecordBatch], reactions: Reactions, folder: Path
) -> Iterator[pa.RecordBatch]:
    """Yield rows of `OUTPUT_SCHEMA` for one task's batches of `INPUT_COLUMNS` and `REACTION`."""
    spare_imports()
    folder.mkdir(parents=True, exist_ok=True)
    handover = Handover(folder)
    outputs = (
        output
        for batch in batches
        for record, retried in zip(
            records_in(iter([batch])), batch.column(REACTION).to_pylist(), strict=True
        )
        for output in reactions.of(record, _text(retried))
    )
    for chunk in chunks(outputs):
        yield pa.RecordBatch.from_pandas(handover.frame(chunk), LAYOUT, preserve_index=False)


def _text(name: bytes | None) -> str | None:
    """Return a name as text, even if it is none in UTF-8."""
    return None if name is None else name.decode(errors="backslashreplace")

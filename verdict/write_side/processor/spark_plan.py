"""Commands in, decisions out: a pure function from DataFrame to DataFrame."""

from collections.abc import Sequence
from pathlib import Path

from pyspark import TaskContext
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from verdict.model.message import END_OF_TIME
from verdict.streaming.exactly_once.checkpoint import planned_ms
from verdict.wire.dead_letter_record import RETRY_ATTEMPT
from verdict.wire.headers import REPLY_TO, REPLY_TO_BYTES
from verdict.wire.topics import KEY_BYTES
from verdict.write_side.processor.outputs import DECIDED_SCHEMA
from verdict.write_side.processor.processor import CommandProcessor

KEYS_A_SHARD = 64  # are tried: without one for a shard is one in 10^27
BATCH = "streaming.sql.batchId"  # Spark's own, among the local properties of a batch's jobs


def decisions(
    commands: DataFrame,
    processor: CommandProcessor,
    shards: Sequence[int],
    max_command_bytes: int,
    seeds: DataFrame | None = None,
) -> DataFrame:
    """Decide every command."""
    # a task for each of Kafka's partitions would cost a lonely command more than its decision
    tasks = max(len(shards), commands.sparkSession.sparkContext.defaultParallelism)
    initial = None if seeds is None else seeds.groupBy("shard")
    return (
        bounded(commands, max_command_bytes)
        .coalesce(tasks)
        .withColumn("shard", shard_of("key", shards))
        .groupBy("shard")
        .transformWithStateInPandas(processor, DECIDED_SCHEMA, "append", "none", initial)
    )


def shard_keys(spark: SparkSession, shards: int) -> list[int]:
    """Return a key for each shard that Spark's hash puts on the partition of that number."""
    placed: dict[int, int] = {}
    values = ", ".join(f"({key})" for key in range(KEYS_A_SHARD * shards))
    # constants, which Spark computes while it plans: no job runs
    found = spark.sql(f"SELECT col1, pmod(hash(col1), {shards}) FROM VALUES {values}")
    for key, shard in found.collect():
        placed.setdefault(shard, key)
    return [placed[shard] for shard in range(shards)]


def shard_of(key: str, keys: Sequence[int]) -> Column:
    """Choose the shard by the record's key: correctness must not depend on the partitioner."""
    number = F.pmod(F.xxhash64(key), F.lit(len(keys))).cast("int")
    return F.element_at(F.array(*map(F.lit, keys)), number + 1)


def bounded(records: DataFrame, limit: int | Column, *more: Column) -> DataFrame:
    """Return Kafka's records as `INPUT_COLUMNS` and `more`; what is longer is cut.

    Keys are cut as well: one of megabytes, which may arrive in a few kilobytes, would fit neither
    the workers' memory nor, twice, a dead letter.
    """
    whole, whole_key = F.length("value") <= limit, F.length("key") <= KEY_BYTES
    has_headers = "headers" in records.columns
    return records.select(
        "topic",
        "partition",
        "offset",
        F.greatest(F.least(F.unix_millis("timestamp"), F.lit(END_OF_TIME)), F.lit(0)).alias(
            "timestamp"
        ),
        F.when(whole_key, F.col("key")).otherwise(F.substring("key", 1, KEY_BYTES)).alias("key"),
        F.when(whole, F.col("value")).otherwise(F.substring("value", 1, limit)).alias("value"),
        F.coalesce(F.length("value"), F.lit(0)).alias("length"),
        F.when(~whole, F.unhex(F.sha2("value", 256))).alias("sha256"),
        (_attempt() if has_headers else F.lit(0)).alias("attempt"),
        F.coalesce(F.length("key"), F.lit(0)).alias("key_length"),
        F.when(~whole_key, F.unhex(F.sha2("key", 256))).alias("key_sha256"),
        (_reply_to() if has_headers else F.lit(None).cast("binary")).alias("reply_to"),
        *more,
    )


def header(name: str) -> Column:
    """Return the last header of that name as the bytes it has, null where there is none.

    Never as a text: what is none in UTF-8 would end the query on its way to Python. Records without
    headers, as most commands are, cost next to nothing.
    """
    names, values = F.reverse(F.col("headers.key")), F.reverse(F.col("headers.value"))
    place = F.array_position(names, F.lit(name)).cast("int") - 1
    return F.when(F.size("headers") > 0, F.get(values, place))


def _attempt() -> Column:
    """Read the header that a retry carries; 0, and never null, where it makes no sense."""
    found = header(RETRY_ATTEMPT).cast("string").try_cast("int")
    return F.greatest(F.coalesce(found, F.lit(0)), F.lit(0))


def _reply_to() -> Column:
    """Read the name that gets a copy of the answer; one that is too long counts as none."""
    return F.substring(header(REPLY_TO), 1, REPLY_TO_BYTES + 1)


def planned_at(checkpoint: Path) -> int:
    """Return when the batch of this task was planned, in epoch milliseconds; a replay keeps it.

    A worker that was paused may wake up when later ones are planned.
    """
    task = TaskContext.get()
    batch = None if task is None else task.getLocalProperty(BATCH)
    if batch is None:
        raise LookupError(f"{BATCH} is not known here: this is no task of a streaming query")
    return planned_ms(checkpoint, int(batch))

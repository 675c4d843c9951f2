"""What Spark alone takes: `groupBy(key).count()`, and a stateful operator that passes records on.

Both read the commands as the decider does: the same records in batches of the same size, with
state in the same store. They write with Spark's own sink, at least once.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.stateful_processor import (
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from benchmarks.latency import schedule, send
from benchmarks.measurement import (
    RunningQuery,
    create_topics,
    fill_orders,
    measure,
    read_batches,
    run_decider,
    running_decider,
    settings_for,
)
from benchmarks.results import Result
from benchmarks.workload import AGGREGATES, SEED, commands
from verdict.adapters.spark.gc import spare_imports
from verdict.service.bootstrap import start_runtime
from verdict.settings.settings import Settings
from verdict.streaming.queries.kafka_source import SOURCE
from verdict.wire.topics import Topics
from verdict.write_side.processor.spark_plan import shard_keys, shard_of

PASSED_ON = "topic string, key binary, value binary"


def floor(servers: str, folder: Path, count: int, rows: list[int], shards: int) -> Iterator[Result]:
    """Yield the decider's rate next to the floor: two records out for each command, no decision."""
    for size in rows:
        result: Result = {"what": "floor", "max_rows_per_batch": size, "shards": shards}
        for way, run in (("floor", run_floor), ("decided", run_decider)):
            settings = settings_for(
                servers, folder, f"floor-{way}-{size}", max_rows_per_batch=size, shards=shards
            )
            fill_orders(settings, commands(count, AGGREGATES, False, SEED))
            result |= {f"{way}_{name}": value for name, value in run(settings, count).items()}
        result["decided_to_floor"] = round(result["decided_per_s"] / result["floor_per_s"], 3)
        yield result


def batch_times(servers: str, folder: Path, shards: int, seconds: float) -> Iterator[Result]:
    """Yield how long a batch takes at 500 commands/s, and one of a single command."""
    ways = {"floor": _running_floor, "decided": running_decider}
    for rate in (500, 2):
        result: Result = {"what": "batch", "commands_per_s": rate, "shards": shards}
        for way, running in ways.items():
            settings = settings_for(servers, folder, f"batch-{way}-{rate}", shards=shards)
            create_topics(settings)
            with running(settings) as (query, check):
                send(servers, settings.topics.commands("order"), schedule(rate, seconds))
                check()
                times = [batch.ms for batch in read_batches(query)]
            result[f"{way}_ms"] = median(times[len(times) // 2 :])
        yield result | {"times_the_floor": round(result["decided_ms"] / result["floor_ms"], 2)}


def run_floor(settings: Settings, count: int) -> Result:
    """Pass each command through a stateful operator, as one event and one response."""
    with _running_floor(settings) as (query, check):
        return measure(query, count, check)


def run_count(settings: Settings, count: int) -> Result:
    """Let Spark count the records of each key, from Kafka to Kafka."""
    with _running_bare(settings, _counted, "update") as (query, check):
        return measure(query, count, check)


class PassOn(StatefulProcessor):
    """Writes two records for each one it reads, and keeps one value for its shard."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics.events("order"), topics.responses("order")

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state; spare the collector what the decider spares it."""
        spare_imports()
        self._seen = handle.getValueState("seen", "count long")

    def handleInputRows(  # type: ignore[override]  # noqa: N802  (Spark calls it and passes frames)
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Pass all rows of one shard on."""
        [seen] = self._seen.get() or (0,)
        for frame in rows:
            seen += len(frame)
            yield pd.concat([frame[["key", "value"]].assign(topic=to) for to in self._topics])
        self._seen.update((seen,))


def _running_floor(settings: Settings) -> AbstractContextManager[RunningQuery]:
    return _running_bare(settings, passed_on, "append")


@contextmanager
def _running_bare(
    settings: Settings, transform: Callable[[DataFrame, Settings], DataFrame], mode: str
) -> Iterator[RunningQuery]:
    with ExitStack() as parts:
        runtime = start_runtime(settings, parts)
        query = start_query(runtime.spark, runtime.servers, settings, transform, mode)
        parts.callback(query.stop)

        def check() -> None:
            if failure := query.exception():
                raise failure

        yield RunningQuery(query, check)


def start_query(
    spark: SparkSession,
    servers: str,
    settings: Settings,
    transform: Callable[[DataFrame, Settings], DataFrame],
    mode: str,
) -> StreamingQuery:
    """Start a query from the commands of orders to Kafka."""
    spark.conf.set("spark.sql.shuffle.partitions", str(settings.shards))
    written = transform(_commands(spark, servers, settings), settings).writeStream.format("kafka")
    return (
        written.options(**{"kafka.bootstrap.servers": servers})
        .option("checkpointLocation", str(settings.data_dir / "bare"))
        .outputMode(mode)
        .start()
    )


def _commands(spark: SparkSession, servers: str, settings: Settings) -> DataFrame:
    return (
        spark.readStream.format("kafka")
        .options(**{"kafka.bootstrap.servers": servers, **SOURCE})
        .option("subscribe", settings.topics.commands("order"))
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", settings.max_rows_per_batch)
        .load()
    )


def passed_on(records: DataFrame, settings: Settings) -> DataFrame:
    """Return two records for each command."""
    shards = shard_keys(records.sparkSession, settings.shards)
    return (
        records.withColumn("shard", shard_of("key", shards))
        .groupBy("shard")
        .transformWithStateInPandas(PassOn(settings.topics), PASSED_ON, "append", "none")
    )


def _counted(records: DataFrame, settings: Settings) -> DataFrame:
    counts = records.groupBy("key").count()
    return counts.select(
        F.lit(settings.topics.events("order")).alias("topic"),
        "key",
        F.col("count").cast("string").alias("value"),
    )

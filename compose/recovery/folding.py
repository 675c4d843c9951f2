"""The Spark job that folds events and responses into the seed of a fresh checkpoint.

What it holds in memory does not grow with the number of aggregates: Spark sorts events by
aggregate, on disk where memory is short, and a worker then holds one batch of records and one
state. Only the later one counts of two responses to one command id: that is an aggregation, which
Spark sorts in the same way. Records are decoded on the executors, once each.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from aggregates.handle import Limits
from aggregates.operator.seed import SEED_SCHEMA
from aggregates.operator.shard_state import NEVER
from aggregates.operator.stream import shard_keys, shard_of
from compose.errors import VerdictError
from compose.exactly_once.checkpoint import starting_offsets
from compose.recovery.bounds import Bounds
from compose.recovery.histories import Stored, snapshots
from compose.recovery.outcomes import outcomes
from compose.recovery.progress import Counts
from compose.recovery.tasks import FOLDED_SCHEMA, ROWS, folded
from schemas.registry import aggregate_types
from schemas.topics import Topics

ROW_GROUP_BYTES = 8 * 2**20  # what a reader of the seed has in memory
TASKS = 8  # at least: so that progress can be seen, and a sort is small
SHOWN_FAULTS = 3


class BrokenHistory(VerdictError):
    """Events or responses in Kafka are not what verdict wrote."""


class Seeded(NamedTuple):
    """What a seed holds."""

    aggregates: int
    remembered: int


class Folding:
    """Reads topics up to fixed ends and folds them.

    Args:
        spark: Where it runs.
        source: Options of Spark's Kafka source.
        topics: Of the deployment.
        limits: How long outcomes are remembered.
        counts: Take in how far the workers have come.
    """

    def __init__(
        self,
        spark: SparkSession,
        source: Mapping[str, str],
        topics: Topics,
        limits: Limits,
        counts: Counts,
    ) -> None:
        self._spark = spark
        self._source = source
        self._topics = topics
        self._limits = limits
        self._counts = counts

    def write(self, bounds: Bounds, shards: int, folder: Path) -> Seeded:
        """Write the seed of every shard as Parquet files into `folder`.

        Raises:
            BrokenHistory: A history does not hold together; names where, and how many do not.
        """
        with _small_batches(self._spark):
            entries = self._snapshots(bounds).unionByName(self._outcomes(bounds))
            (
                entries.withColumn("shard", shard_of("of", shard_keys(self._spark, shards)))
                .drop("of")
                .repartition(shards, "shard")
                .write.option("parquet.block.size", ROW_GROUP_BYTES)
                .partitionBy("shard")
                .mode("overwrite")
                .parquet(str(folder))
            )
        return self._checked(folder)

    def _snapshots(self, bounds: Bounds) -> DataFrame:
        fold = partial(folded, snapshots, self._counts.events, self._counts.aggregates)
        tasks = max(TASKS, 2 * self._spark.sparkContext.defaultParallelism)
        return (
            self._stored(self._topics.events, bounds)
            .repartition(tasks, "topic", "key")
            .sortWithinPartitions("topic", "key", "partition", "offset")
            .mapInArrow(fold, FOLDED_SCHEMA)
            .drop("offset")
        )

    def _outcomes(self, bounds: Bounds) -> DataFrame:
        remembered = partial(outcomes, limits=self._limits, now=bounds.now)
        fold = partial(folded, remembered, self._counts.responses, None)
        entry = F.struct("entry", "expires_at", "fault")
        return (
            self._stored(self._topics.responses, bounds)
            .mapInArrow(fold, FOLDED_SCHEMA)
            .groupBy("of", "key")
            .agg(F.max_by(entry, "offset").alias("last"))
            .select("of", "key", "last.*")
        )

    def _stored(self, topic_of: Callable[[str], str], bounds: Bounds) -> DataFrame:
        """Return the columns of `Stored` for the committed records of all aggregate types."""
        types = {topic_of(name): name for name in aggregate_types()}
        ends = {topic: bounds.ends[topic] for topic in types}
        records = (
            self._spark.read.format("kafka")
            .options(**self._source)
            .option("kafka.isolation.level", "read_committed")
            .option("failOnDataLoss", "true")
            .option("subscribe", ",".join(types))
            .option("startingOffsets", "earliest")
            .option("endingOffsets", starting_offsets(ends, _counted(ends)))
            .load()
        )
        names = F.create_map(*(F.lit(text) for pair in types.items() for text in pair))
        return records.select(names[F.col("topic")].alias("aggregate_type"), *Stored._fields[1:])

    def _checked(self, folder: Path) -> Seeded:
        schema = f"{SEED_SCHEMA}, fault string"
        seed = self._spark.read.schema(schema).parquet(str(folder))
        whole = F.col("fault").isNull()
        count = seed.agg(
            F.count_if(whole & (F.col("expires_at") == NEVER)).alias("aggregates"),
            F.count_if(whole & (F.col("expires_at") != NEVER)).alias("remembered"),
            F.count("fault").alias("faults"),
        ).collect()[0]
        if count.faults:
            shown = seed.where(~whole).limit(SHOWN_FAULTS).collect()
            raise BrokenHistory(
                f"{count.faults} histories in Kafka do not hold together: "
                f"{'; '.join(row.fault for row in shown)}; nothing was changed: find out who wrote "
                "to these topics, and restore them"
            )
        return Seeded(count.aggregates, count.remembered)


def _counted(ends: Mapping[str, list[int]]) -> dict[str, int]:
    return {topic: len(offsets) for topic, offsets in ends.items()}


@contextmanager
def _small_batches(spark: SparkSession) -> Iterator[None]:
    """Let Spark hand rows to its workers in batches that fit into memory whatever they hold."""
    setting = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(setting)
    spark.conf.set(setting, str(ROWS))
    try:
        yield
    finally:
        spark.conf.set(setting, str(before))

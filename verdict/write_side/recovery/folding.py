"""The Spark job that folds events and responses into the seed of a fresh checkpoint.

Its memory does not grow with the number of aggregates: Spark sorts the records by aggregate, on
disk where memory is short, and a worker holds one batch of records and one state. Records are
decoded on the executors, once each.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from verdict.adapters.kafka import offsets
from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.spark.query_settings import local_path
from verdict.streaming.exactly_once.checkpoint import starting_offsets
from verdict.streaming.queries.kafka_source import StreamContext, stored
from verdict.wire.partitions import Spans
from verdict.wire.records import decode, encode
from verdict.wire.skip_record import Quarantines, SkippedRanges, SkipRecord
from verdict.wire.topics import Topics
from verdict.write_side.decide.command_checks import Limits
from verdict.write_side.processor.batch import outcome_entry
from verdict.write_side.processor.spark_plan import shard_keys, shard_of
from verdict.write_side.recovery.histories import DECISION, EVENT, RESPONSE, Stored
from verdict.write_side.recovery.outcomes import Memory, Unanswered
from verdict.write_side.recovery.tasks import FOLDED_SCHEMA, ROWS, Taken, folded
from verdict.write_side.state.log_head import LONGEST_STEP_MS
from verdict.write_side.state.seed import SEED_SCHEMA
from verdict.write_side.state.shard_state import FOR_EVER

LOG = logging.getLogger("verdict.recovery")
HOUR_MS = 60 * 60 * 1000
ROW_GROUP_BYTES = 8 * 2**20  # that a reader of the seed holds in memory
TASKS = 8  # at least, of a log that is not small: they show progress, and sort in little memory
TASK_RECORDS = 10_000  # to fold fewer takes less time than to start a task
SHOWN = 12  # faults in a message
STORED_SCHEMA = (
    "aggregate_type string, rank int, topic string, partition int, offset bigint, key binary, "
    "value binary, timestamp bigint, skipped boolean"
)


class SeededState(NamedTuple):
    """The content of a seed.

    Args:
        aggregates: Their number, with quarantined ones.
        remembered: The number of outcomes of commands.
        decisions: QUARANTINED of aggregates that are damaged, LIFTED of those that are whole again.
        faults: The number of reasons why the seed cannot be used, and the first of them.
    """

    aggregates: int
    remembered: int
    decisions: list[SkipRecord]
    faults: tuple[int, list[str]] = (0, [])


@dataclass(frozen=True, kw_only=True)
class HistoryFold:
    """Reads topics between `bounds` and folds them; commands are decided up to `decided`."""

    ground: StreamContext
    topics: Topics
    limits: Limits
    taken: Taken
    decided: offsets.Offsets
    skipped: SkippedRanges
    bounds: Spans

    def write(
        self,
        shards: int,
        folder: Path,
        quarantines: Quarantines,
        archived: Path | None = None,
        unanswered: Unanswered | None = None,
    ) -> SeededState:
        """Write the seed of every shard as Parquet files into `folder`."""
        with _small_batches(self.ground.spark):
            records = self._records(quarantines, archived)
            memory = self._memory(unanswered)
            keys = shard_keys(self.ground.spark, shards)
            (
                self._folded(records, memory, self._tasks(archived))
                .withColumn("shard", shard_of("of", keys))
                .repartition(shards, "shard")
                .groupBy("shard", "key")
                .agg(F.max_by(F.struct("entry", "keep_ms", "fault", "decision"), "offset"))
                .toDF("shard", "key", "found")
                .select("shard", "key", "found.*")
                .write.option("parquet.block.size", ROW_GROUP_BYTES)
                .partitionBy("shard")
                .mode("overwrite")
                .parquet(local_path(folder))
            )
        return self._seeded(folder)

    def _folded(self, records: DataFrame, memory: Memory, tasks: int) -> DataFrame:
        return (
            records.repartition(tasks, "key")
            .sortWithinPartitions("key", "aggregate_type", "rank", "partition", "offset")
            .mapInArrow(partial(folded, self.topics.application, memory, self.taken), FOLDED_SCHEMA)
        )

    def _records(self, quarantines: Quarantines, archived: Path | None) -> DataFrame:
        """Return the columns of `Stored` for all records about aggregates."""
        events = self._stored(EVENT, archived)
        records = events.unionByName(self._stored(RESPONSE))
        rows = [
            (kind, DECISION, *astuple(one.source), name.encode(), encode(one), 0, False)
            for (kind, name), one in quarantines.items()
        ]
        if not rows:
            return records
        return records.unionByName(self.ground.spark.createDataFrame(rows, STORED_SCHEMA))

    def _memory(self, unanswered: Unanswered | None) -> Memory:
        responses = self._topic_of(RESPONSE)
        hour = F.floor(F.col("timestamp") / HOUR_MS).alias("hour")
        hours = self._stored(RESPONSE).select(hour).distinct().collect()
        keep_ms = outcome_entry(b"", self.limits).keep_ms
        return Memory(
            limits=self.limits,
            since=remembered_since((row.hour for row in hours), keep_ms),
            decided=self.decided,
            unanswered=unanswered,
            whole=not any(
                kept.start for place, kept in self.bounds.items() if place.topic in responses
            ),
        )

    def _tasks(self, archived: Path | None) -> int:
        """Return the number of tasks of a fold: few records do not need many."""
        most = max(TASKS, 2 * self.ground.spark.sparkContext.defaultParallelism)
        if archived is not None:  # the number of its records is not known
            return most
        return min(
            most, 1 + sum(kept.end - kept.start for kept in self.bounds.values()) // TASK_RECORDS
        )

    def _topic_of(self, rank: int) -> dict[str, str]:
        """Return the aggregate type of each topic of events, or of responses."""
        topic = self.topics.events if rank == EVENT else self.topics.responses
        return {topic(name): name for name in self.topics.application.aggregate_types}

    def _stored(self, rank: int, archived: Path | None = None) -> DataFrame:
        """Return the columns of `Stored` for the committed records of all aggregate types."""
        types = self._topic_of(rank)
        ends = offsets.ends({p: kept for p, kept in self.bounds.items() if p.topic in types})
        records = stored(
            self.ground.spark,
            self.ground.source,
            subscribe=",".join(types),
            startingOffsets="earliest",
            endingOffsets=starting_offsets(ends, {name: len(end) for name, end in ends.items()}),
        ).withColumn("timestamp", F.unix_millis("timestamp"))
        if archived is not None:
            # if Kafka lost its end, a new record can have the offset of an archived one
            same = ["topic", "partition", "offset", "value"]
            others = self.ground.spark.read.parquet(local_path(archived))
            others = others.join(records.select(same), same, "left_anti")
            records = records.unionByName(others, allowMissingColumns=True)
        names = F.create_map(*(F.lit(text) for pair in types.items() for text in pair))
        return records.select(
            names[F.col("topic")].alias("aggregate_type"),
            F.lit(rank).alias("rank"),
            *Stored._fields[2:-1],
            F.expr(self.skipped.condition()).alias(Stored._fields[-1]),
        )

    def _seeded(self, folder: Path) -> SeededState:
        schema = f"{SEED_SCHEMA}, fault string, decision binary"
        seed = self.ground.spark.read.schema(schema).parquet(local_path(folder))
        whole = F.col("fault").isNull()
        count = seed.agg(
            F.count_if(whole & (F.col("keep_ms") == FOR_EVER)).alias("aggregates"),
            F.count_if(whole & (F.col("keep_ms") != FOR_EVER)).alias("remembered"),
            F.count("fault").alias("faults"),
            F.count("decision").alias("decisions"),
        ).collect()[0]
        shown = seed.where(~whole).limit(SHOWN).collect() if count.faults else ()
        rows = seed.where("decision IS NOT NULL").collect() if count.decisions else ()
        return SeededState(
            aggregates=count.aggregates,
            remembered=count.remembered,
            decisions=[decode(SkipRecord, bytes(row.decision)) for row in rows],
            faults=(count.faults, [row.fault for row in shown]),
        )


@contextmanager
def _small_batches(spark: SparkSession) -> Iterator[None]:
    """Let Spark pass rows to its workers in batches that fit into memory."""
    setting = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(setting)
    spark.conf.set(setting, str(ROWS))
    try:
        yield
    finally:
        spark.conf.set(setting, str(before))


def bounds_of(kafka: KafkaConfig, topics: Sequence[str]) -> Spans:
    """Return the offsets that Kafka has of `topics`, once no transaction is open there.

    Call it as the owner: then no other process writes there.

    Raises:
        VerdictError: A topic does not exist.
    """
    with KafkaLog(kafka.settings, 2 * kafka.transaction_timeout_s) as log:
        places = log.places(topics)
        log.await_settled(places, "events and responses cannot be folded")
        return log.bounds(places)


def remembered_since(hours: Iterable[int], keep_ms: int) -> int:
    """Return the time before which no response is remembered, in epoch milliseconds; pure.

    The time between two responses counts half a day at most, as for the clock of a shard's state.
    So if the broker's clock was wrong for a while, other responses are forgotten at most half a day
    too early.
    """
    passed, newest_first = 0, sorted(set(hours), reverse=True)
    for later, earlier in pairwise(newest_first):
        passed += min((later - earlier) * HOUR_MS, LONGEST_STEP_MS)
        if passed > keep_ms + HOUR_MS:
            return later * HOUR_MS
    return 0

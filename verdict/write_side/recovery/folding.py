"""The Spark job that folds events and responses into the seed of a fresh checkpoint.

Its memory does not grow with the number of aggregates: Spark sorts the records by aggregate, on
disk where memory is short, and a worker holds one batch of records and one state. Records are
decoded on the executors, once each.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyspark import Accumulator
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from verdict.adapters.kafka import offsets
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.spark.gc import spare_imports
from verdict.adapters.spark.query_settings import local_path
from verdict.model.application import Application
from verdict.settings.settings import Settings
from verdict.streaming.event_log.skip_log import skipped_ranges
from verdict.streaming.exactly_once.checkpoint import starting_offsets
from verdict.streaming.queries.kafka_source import StreamContext, stored
from verdict.wire.partitions import Spans
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.records import decode, encode
from verdict.wire.skip_record import SkipRecord, active_quarantines
from verdict.write_side.decider_query.decider_query import HOUR_MS, limits_of
from verdict.write_side.processor.batch import outcome_entry
from verdict.write_side.processor.spark_plan import shard_keys, shard_of
from verdict.write_side.recovery.histories import (
    DECISION,
    EVENT,
    RESPONSE,
    Memory,
    Stored,
    Unanswered,
    fold_histories,
)
from verdict.write_side.state.log_head import LONGEST_STEP_MS
from verdict.write_side.state.seed import SEED_SCHEMA
from verdict.write_side.state.shard_state import FOR_EVER

ROW_GROUP_BYTES = 8 * 2**20  # that a reader of the seed holds in memory
TASKS = 8  # at least, of a log that is not small: they show progress, and sort in little memory
TASK_RECORDS = 10_000  # to fold fewer takes less time than to start a task
ROWS = 1000  # of a batch between Spark and its workers: a record can have a megabyte
SHOWN = 12  # faults in a message
STORED_SCHEMA = (
    "aggregate_type string, rank int, topic string, partition int, offset bigint, key binary, "
    "value binary, timestamp bigint, skipped boolean"
)
FOLDED_SCHEMA = pa.schema({
    "of": pa.binary(), "key": pa.binary(), "entry": pa.binary(), "keep_ms": pa.int64(),
    "offset": pa.int64(), "fault": pa.string(), "decision": pa.binary(),
})  # fmt: skip


class RecoveryCounts(NamedTuple):
    """What the workers have read and folded; Spark adds the counts of a task when it ends."""

    events: Accumulator[int]
    aggregates: Accumulator[int]
    responses: Accumulator[int]

    def __str__(self) -> str:
        events, aggregates, responses = (count.value for count in self)
        return f"{events:,} events of {aggregates:,} aggregates, {responses:,} responses read"


class SeededState(NamedTuple):
    """The content of a seed."""

    aggregates: int  # their number, with quarantined ones
    remembered: int  # the number of outcomes
    decisions: list[SkipRecord]  # quarantines of damaged aggregates, and of whole ones lifted
    faults: int = 0  # the number of reasons why the seed cannot be used
    shown: Sequence[str] = ()  # the first of them


@dataclass(frozen=True, kw_only=True)
class HistoryFold:
    """Folds all events and responses in Kafka, for the generation of `new`."""

    ground: StreamContext
    settings: Settings
    new: ProgressRecord
    decisions: Sequence[SkipRecord]
    counts: RecoveryCounts

    @cached_property
    def bounds(self) -> Spans:
        """The offsets that Kafka has; no other process writes there, as this one is the owner."""
        kafka = self.ground.kafka
        with KafkaLog(kafka.settings, 2 * kafka.transaction_timeout_s) as log:
            places = log.places([*self._topics(EVENT), *self._topics(RESPONSE)])
            log.await_settled(places, "events and responses cannot be folded")
            return log.bounds(places)

    @property
    def events(self) -> Spans:
        """The bounds of the topics of events."""
        topics = self._topics(EVENT)
        return {place: kept for place, kept in self.bounds.items() if place.topic in topics}

    def write(
        self, folder: Path, archived: Path | None, unanswered: Unanswered | None
    ) -> SeededState:
        """Write the seed of every shard as Parquet files into `folder`."""
        spark, shards = self.ground.spark, self.new.shards
        with _small_batches(spark):
            fold = partial(_folded, self.settings.application, self._memory(unanswered))
            (
                self._records(archived)
                .repartition(self._tasks(archived), "key")
                .sortWithinPartitions("key", "aggregate_type", "rank", "partition", "offset")
                .mapInArrow(partial(fold, self.counts), from_arrow_schema(FOLDED_SCHEMA))
                .withColumn("shard", shard_of("of", shard_keys(spark, shards)))
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

    def _records(self, archived: Path | None) -> DataFrame:
        """Return the columns of `Stored` for all records about aggregates."""
        records = self._stored(EVENT, archived).unionByName(self._stored(RESPONSE))
        rows = [
            (kind, DECISION, *astuple(one.source), name.encode(), encode(one), 0, False)
            for (kind, name), one in active_quarantines(self.decisions).items()
        ]
        if not rows:
            return records
        return records.unionByName(self.ground.spark.createDataFrame(rows, STORED_SCHEMA))

    def _memory(self, unanswered: Unanswered | None) -> Memory:
        limits, responses = limits_of(self.settings), self._topics(RESPONSE)
        hour = F.floor(F.col("timestamp") / HOUR_MS).alias("hour")
        hours = self._stored(RESPONSE).select(hour).distinct().collect()
        keep_ms = outcome_entry(b"", limits).keep_ms
        dropped = (kept.start for place, kept in self.bounds.items() if place.topic in responses)
        return Memory(
            limits=limits,
            since=remembered_since((row.hour for row in hours), keep_ms),
            decided=self.new.offsets,
            unanswered=unanswered,
            whole=not any(dropped),
        )

    def _tasks(self, archived: Path | None) -> int:
        """Return the number of tasks of a fold: few records do not need many."""
        most = max(TASKS, 2 * self.ground.spark.sparkContext.defaultParallelism)
        if archived is not None:  # the number of its records is not known
            return most
        records = sum(kept.end - kept.start for kept in self.bounds.values())
        return min(most, 1 + records // TASK_RECORDS)

    def _topics(self, rank: int) -> dict[str, str]:
        """Return the aggregate type of each topic of events, or of responses."""
        topics = self.settings.topics
        topic = topics.events if rank == EVENT else topics.responses
        return {topic(name): name for name in topics.application.aggregate_types}

    def _stored(self, rank: int, archived: Path | None = None) -> DataFrame:
        """Return the columns of `Stored` for the committed records of all aggregate types."""
        types = self._topics(rank)
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
            F.expr(skipped_ranges(self.decisions).condition()).alias(Stored._fields[-1]),
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
        decisions = [decode(SkipRecord, bytes(row.decision)) for row in rows]
        faults = [row.fault for row in shown]
        return SeededState(count.aggregates, count.remembered, decisions, count.faults, faults)


def _folded(
    application: Application,
    memory: Memory,
    counts: RecoveryCounts,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Fold the records of one task on its executor; hold one batch of them at a time."""
    spare_imports()
    gathered: list[tuple[object, ...]] = []
    for one in fold_histories(application, _records_in(batches, counts), memory):
        of, key, entry, offset, fault, decision = one
        value, keep_ms = entry or (None, None)
        gathered.append((of, key, value, keep_ms, offset, fault, decision and encode(decision)))
        if keep_ms == FOR_EVER:
            counts.aggregates.add(1)
        if len(gathered) == ROWS:
            yield _batch(gathered)
            gathered = []
    yield _batch(gathered)


def _records_in(batches: Iterable[pa.RecordBatch], counts: RecoveryCounts) -> Iterator[Stored]:
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in Stored._fields]
        yield from map(Stored._make, zip(*columns, strict=True))
        ranks = columns[Stored._fields.index("rank")]
        counts.events.add(ranks.count(EVENT))
        counts.responses.add(ranks.count(RESPONSE))


def _batch(rows: list[tuple[object, ...]]) -> pa.RecordBatch:
    columns = [*zip(*rows, strict=True)] if rows else [()] * len(FOLDED_SCHEMA)
    return pa.RecordBatch.from_arrays(columns, schema=FOLDED_SCHEMA)


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

"""The Spark job that folds events and responses into the seed of a fresh checkpoint.

What it holds in memory does not grow with the number of aggregates: Spark sorts events by
aggregate, on disk where memory is short, and a worker then holds one batch of records and one
state. Only the later one counts of two responses to one command id, and of an aggregate's responses
the one that tells of its last event: those are aggregations, which Spark sorts in the same way.
Records are decoded on the executors, once each.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from verdict.decider.recovery.bounds import HOUR_MS, remembered_since
from verdict.decider.recovery.histories import Stored, snapshots
from verdict.decider.recovery.outcomes import on_record, outcomes
from verdict.decider.recovery.progress import Counts
from verdict.decider.recovery.tasks import FOLDED_SCHEMA, ROWS, folded, row_of
from verdict.decision.handle import Limits
from verdict.errors import VerdictError
from verdict.exactly_once.checkpoint import starting_offsets
from verdict.kafka import offsets
from verdict.operator.batch import outcome_entry
from verdict.operator.seed import SEED_SCHEMA
from verdict.operator.shard_state import FOR_EVER, named
from verdict.operator.stream import shard_keys, shard_of
from verdict.spark.location import on_disk
from verdict.spark.source import Ground, stored
from verdict.wire.decision import Lost
from verdict.wire.passed_over import PassedOver
from verdict.wire.spans import Spans
from verdict.wire.topics import Topics

LOG = logging.getLogger("verdict.recovery")
ROW_GROUP_BYTES = 8 * 2**20  # what a reader of the seed has in memory
TASKS = 8  # at least, of a log that is not small: so that progress can be seen, and a sort is small
TASK_RECORDS = 10_000  # fewer take a task less long than to begin it
SHOWN = 12  # faults, or aggregates: whoever passes over them names each


class BrokenHistory(VerdictError):
    """Events or responses in Kafka are not what verdict wrote; `shown` are the first faults."""

    def __init__(self, count: int, shown: str) -> None:
        self.shown = shown
        super().__init__(
            f"{count} histories in Kafka do not hold together: {shown}; the state was not changed: "
            "find out who wrote to these topics, and name the read side whose archive has what is "
            "missing with --database-url; what verdict did not write, or is beyond repair, is "
            "passed over with `verdict recover --skip TOPIC:PARTITION:OFFSET --why …`, and what is "
            "missing then, or was, with `--accept-lost`, both on record"
        )


class LostAt(NamedTuple):
    """An aggregate of which nobody can tell what it is, and on which partition its events lie."""

    aggregate: Lost
    partition: int


class Seeded(NamedTuple):
    """What a seed holds; `lost` counts as deleted in it, as somebody has accepted."""

    aggregates: int
    remembered: int
    lost: Sequence[LostAt] = ()


class Folding:
    """Reads topics up to fixed ends and folds them.

    Args:
        ground: Reads Kafka.
        topics: Of the deployment.
        limits: How long outcomes are remembered.
        counts: Take in how far the workers have come.
        passed_over: Places that do not count.
        decided: How far commands are decided.
        accept_lost: Whether somebody accepts, with this run, that versions may be missing.
    """

    def __init__(  # noqa: PLR0913  (each is a fact that all of a fold needs)
        self,
        ground: Ground,
        topics: Topics,
        limits: Limits,
        counts: Counts,
        passed_over: PassedOver,
        decided: offsets.Offsets,
        *,
        accept_lost: bool = False,
    ) -> None:
        self._spark = ground.spark
        self._source = ground.source
        self._topics = topics
        self._limits = limits
        self._counts = counts
        self._passed_over = passed_over
        self._decided = decided
        self._accept_lost = accept_lost

    def write(
        self, bounds: Spans, shards: int, folder: Path, archived: Path | None = None
    ) -> Seeded:
        """Write the seed of every shard as Parquet files into `folder`.

        Args:
            bounds: What is read.
            shards: How many there are.
            folder: Where to.
            archived: A file with events that Kafka has dropped, and perhaps others.

        Raises:
            BrokenHistory: A history does not hold together; names where, and how many do not.
        """
        with _small_batches(self._spark):
            entries = self._snapshots(bounds, archived).unionByName(self._outcomes(bounds))
            entries = entries.unionByName(self._on_record())
            keys = shard_keys(self._spark, shards)
            placed = entries.withColumn("shard", shard_of("of", keys)).repartition(shards, "shard")
            answers = {*map(self._topics.responses, self._topics.application.aggregate_types)}
            whole = not any(kept.start for place, kept in bounds.items() if place.topic in answers)
            (
                compared(placed, whole)
                .write.option("parquet.block.size", ROW_GROUP_BYTES)
                .partitionBy("shard")
                .mode("overwrite")
                .parquet(on_disk(folder))
            )
        return self._checked(folder)

    def _snapshots(self, bounds: Spans, archived: Path | None) -> DataFrame:
        one = partial(snapshots, self._topics.application, lost=self._passed_over.lost_versions())
        fold = partial(folded, one, self._counts.events, self._counts.aggregates)
        return (
            self._stored(self._topics.events, bounds, archived)
            .repartition(self._tasks(bounds, archived), "topic", "key")
            .sortWithinPartitions("topic", "key", "partition", "offset")
            .mapInArrow(fold, FOLDED_SCHEMA)
        )

    def _on_record(self) -> DataFrame:
        """Return what is lost since a recovery of before, whatever responses tell of it by now."""
        made = (one for each in self._passed_over.lost.values() for one in each)
        known = partial(on_record, self._topics.application)
        rows = [row_of(one) for one in map(known, made)]
        return self._spark.createDataFrame(rows, FOLDED_SCHEMA)

    def _outcomes(self, bounds: Spans) -> DataFrame:
        responses = self._stored(self._topics.responses, bounds)
        hour = F.floor(F.col("timestamp") / HOUR_MS).alias("hour")
        hours = [row.hour for row in responses.select(hour).distinct().collect()]
        since = remembered_since(hours, outcome_entry(b"", self._limits).keep_ms)
        remembered = partial(
            outcomes,
            self._topics.application,
            limits=self._limits,
            since=since,
            decided=self._decided,
            lost=self._passed_over.lost_versions(),
        )
        fold = partial(folded, remembered, self._counts.responses, None)
        # a task for each of Kafka's partitions would take longer than what most of them hold
        return responses.coalesce(self._tasks(bounds)).mapInArrow(fold, FOLDED_SCHEMA)

    def _tasks(self, bounds: Spans, archived: Path | None = None) -> int:
        """Return into how many tasks of Python a fold is cut: few records are not worth many."""
        most = max(TASKS, 2 * self._spark.sparkContext.defaultParallelism)
        if archived is not None:  # nobody has counted these
            return most
        return min(most, 1 + sum(kept.end - kept.start for kept in bounds.values()) // TASK_RECORDS)

    def _stored(
        self, topic_of: Callable[[str], str], bounds: Spans, archived: Path | None = None
    ) -> DataFrame:
        """Return the columns of `Stored` for the committed records of all aggregate types."""
        types = {topic_of(name): name for name in self._topics.application.aggregate_types}
        ends = offsets.ends({p: kept for p, kept in bounds.items() if p.topic in types})
        records = stored(
            self._spark,
            self._source,
            subscribe=",".join(types),
            startingOffsets="earliest",
            endingOffsets=starting_offsets(ends, {name: len(end) for name, end in ends.items()}),
        ).withColumn("timestamp", F.unix_millis("timestamp"))
        if archived is not None:
            place = ["topic", "partition", "offset"]
            dropped = self._spark.read.parquet(on_disk(archived))
            dropped = dropped.join(records.select(place), place, "left_anti")
            records = records.unionByName(dropped, allowMissingColumns=True)
        names = F.create_map(*(F.lit(text) for pair in types.items() for text in pair))
        return records.select(
            names[F.col("topic")].alias("aggregate_type"),
            *Stored._fields[1:-2],
            F.expr(self._passed_over.condition()).alias(Stored._fields[-2]),
            F.lit(self._accept_lost).alias(Stored._fields[-1]),
        )

    def _checked(self, folder: Path) -> Seeded:
        schema = f"{SEED_SCHEMA}, fault string, lost struct<partition: bigint, version: bigint>"
        seed = self._spark.read.schema(schema).parquet(on_disk(folder))
        whole = F.col("fault").isNull()
        count = seed.agg(
            F.count_if(whole & (F.col("keep_ms") == FOR_EVER)).alias("aggregates"),
            F.count_if(whole & (F.col("keep_ms") != FOR_EVER)).alias("remembered"),
            F.count("fault").alias("faults"),
            F.count("lost").alias("lost"),
        ).collect()[0]
        if count.faults:
            shown = seed.where(~whole).limit(SHOWN).collect()
            raise BrokenHistory(count.faults, "; ".join(row.fault for row in shown))
        rows = seed.where("lost IS NOT NULL").collect() if count.lost else []
        lost = [LostAt(Lost(*named(row.key), row.lost.version), row.lost.partition) for row in rows]
        if lost:
            names = (
                f"{one.aggregate_type} {one.aggregate_id} version {one.version}"
                for one, _ in lost[:SHOWN]
            )
            LOG.warning(
                "nobody can tell what these %s aggregates were: as was accepted, they count as "
                "deleted up to that version: %s%s",
                *(len(lost), ", ".join(names), ", …" if len(lost) > SHOWN else ""),
            )
        return Seeded(count.aggregates, count.remembered, lost)


def compared(entries: DataFrame, whole: bool) -> DataFrame:
    """Return the entries of a seed, after responses were held against the events that they tell of.

    The chain of hashes looks backwards: only responses tell whether an aggregate's last event is
    the last one, and what was in it.

    Args:
        entries: `FOLDED_SCHEMA` and the shard, by which they are distributed.
        whole: Whether no response is missing, so that each aggregate must have one.

    Returns:
        `SEED_SCHEMA`, a fault in place of an entry that is not as it must be, where an aggregate is
        lost, as somebody has accepted, and the shard.
    """
    is_entry = F.col("entry").isNotNull() | F.col("fault").isNotNull()
    is_on_record = ~is_entry & F.col("lost").isNotNull()
    is_said = ~is_entry & ~is_on_record
    entry = F.struct("entry", "keep_ms", "fault", "version", "last_hash", "partition", "lost")
    stand = F.struct(F.abs("version").alias("version"), "last_hash")
    later = F.struct("version", F.col("last_hash").isNotNull(), "offset")  # older ones lack it
    told = F.when(F.col("instead").isNotNull() & ~is_on_record, F.struct("version", "offset"))
    # where an event alone tells of a version, to which nothing leads, it is below zero until here
    version = F.abs("version").alias("version")
    instead = F.struct(version, "instead", "partition")
    recorded = F.struct(F.col("lost").alias("version"), "instead", "partition")
    one = entries.groupBy("shard", "key").agg(
        F.max_by(entry, F.when(is_entry, F.col("offset"))).alias("found"),
        F.max_by(stand, F.when(is_said, later)).alias("said"),
        F.max_by(instead, told).alias("accepted"),
        F.max_by(recorded, F.when(is_on_record, F.col("lost"))).alias("recorded"),
    )
    further = F.col("recorded.version") > F.coalesce("accepted.version", F.lit(0))
    accepted = F.when(F.col("accepted.version") == F.col("said.version"), F.col("accepted"))
    lost = F.when(further, F.col("recorded")).otherwise(accepted)
    one = one.withColumn("lost", lost)
    faulty, is_lost = F.col("found.fault").isNotNull(), _is_lost()
    partition = F.coalesce("found.partition", "lost.partition").alias("partition")
    return one.where("found IS NOT NULL OR said.version > 0 OR lost.version > 0").select(
        "shard",
        "key",
        F.when(is_lost, F.col("lost.instead")).otherwise(F.col("found.entry")).alias("entry"),
        F.when(is_lost, F.lit(FOR_EVER)).otherwise(F.col("found.keep_ms")).alias("keep_ms"),
        F.when(faulty, F.col("found.fault"))
        .when(_contradicted(whole) & ~is_lost, _contradiction())
        .alias("fault"),
        F.when(is_lost, F.struct(partition, F.col("lost.version").alias("version")))
        .when(F.col("found.lost") > 0, F.struct(partition, F.col("found.lost").alias("version")))
        .alias("lost"),
    )


def _is_lost() -> Column:
    """Whether events end before what is lost, as is accepted, or on record since it was."""
    before = F.coalesce("found.version", F.lit(0)) < F.col("lost.version")
    accepted = F.col("lost.version") >= F.coalesce("said.version", F.lit(0))
    return F.coalesce(F.col("found.fault").isNull() & before & accepted, F.lit(False))


def _contradicted(whole: bool) -> Column:
    """Whether events do not end as the last response says, older ones of which tell no hash."""
    version, last_hash = F.col("found.version"), F.col("found.last_hash")
    is_aggregate = version.isNotNull() | F.col("found").isNull()
    said_hash = F.coalesce("said.last_hash", last_hash)
    agree = version.eqNullSafe(F.col("said.version")) & last_hash.eqNullSafe(said_hash)
    told = F.lit(whole) | F.col("said").isNotNull()
    return is_aggregate & told & ~agree


def _contradiction() -> Column:
    def shown(stand: str) -> Column:
        version = F.coalesce(F.col(f"{stand}.version").cast("string"), F.lit("nothing"))
        found = F.lower(F.hex(F.substring(F.col(f"{stand}.last_hash"), 1, 8)))
        return F.concat(version, F.coalesce(F.concat(F.lit(" with the hash "), found), F.lit("")))

    found, said = F.col("found.version"), F.coalesce("said.version", F.lit(0))
    ends = F.concat(F.lit(", events end with version "), shown("found"))
    what = (
        F.when(found < said, F.lit(": the last ones are missing"))
        .when(found > said, F.lit(": verdict did not write the last one, or its response is gone"))
        .otherwise(F.lit(": the last event was altered"))
    )
    nowhere = F.lit(", and no event of it is there")
    return F.concat(
        _name(),
        F.lit(": the last response, or an event that is passed over, tells of version "),
        shown("said"),
        F.when(F.col("found").isNull(), nowhere).otherwise(F.concat(ends, what)),
    )


def _name() -> Column:
    """Return the aggregate of a snapshot's key, for people."""
    return F.substring(F.translate(F.col("key").cast("string"), "\0", " "), 3, 1000)


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

"""The decider, running: commands from Kafka through the operator into one transaction a batch."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from shutil import rmtree

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from verdict.configuration.settings import Settings
from verdict.decider.generation import Generation, generation_of
from verdict.decision.handle import Limits
from verdict.errors import Late
from verdict.exactly_once.batch import OutputRecord
from verdict.exactly_once.checkpoint import (
    batch_of,
    checkpoint_position,
    planned_at,
    remove_torn_files,
    starting_offsets,
)
from verdict.exactly_once.decider_query import NAME, decider_query
from verdict.exactly_once.errors import Misfit
from verdict.exactly_once.markers import read_marker
from verdict.exactly_once.owner import take_over
from verdict.exactly_once.publisher import Publisher
from verdict.exactly_once.query import Query
from verdict.exactly_once.shards import told_moves
from verdict.exactly_once.steps import OnStep, unobserved
from verdict.exactly_once.watch import Watch
from verdict.kafka.access import Kafka
from verdict.operator.chunk import unpacked
from verdict.operator.collector import collector_paused
from verdict.operator.handover import chunks_of, in_files
from verdict.operator.log_structured import LogStructuredState
from verdict.operator.moved import moves_of
from verdict.operator.processor import CommandProcessor
from verdict.operator.seed import SEEDS_SCHEMA
from verdict.operator.stream import decisions, shard_keys
from verdict.spark.errors import query_failed
from verdict.spark.lasting import Lasting
from verdict.spark.session import jvm_exit_code

HOUR_MS = 60 * 60 * 1000
REHEARSALS = 3
# as Kafka's source of Spark has them
KAFKA_COLUMNS = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, "
    "headers ARRAY<STRUCT<key STRING, value BINARY>>"
)


class Deciding:
    """The one query that decides for all aggregate types.

    Args:
        spark: Where it runs.
        kafka: Where everything is published.
        source: Options of Spark's Kafka source, `kafka.bootstrap.servers` and security among them.
        settings: Names, limits and sizes.
        on_step: Called at each step of publishing.
        reachable: Whether Kafka is there; while it is not, a query that ended is not begun again.
    """

    def __init__(
        self,
        spark: SparkSession,
        kafka: Kafka,
        source: Mapping[str, str],
        settings: Settings,
        on_step: OnStep = unobserved,
        reachable: Callable[[], bool] = lambda: True,
    ) -> None:
        self._spark = spark
        self._kafka = kafka
        self._source = source
        self._settings = settings
        self._on_step = on_step
        self._checkpoint = Path()
        self._shards: list[int] = []
        self._outputs = settings.data_dir.absolute() / "outputs"
        self._publisher: Publisher | None = None
        self._watch: Watch | None = None
        self._generation: Generation | None = None
        told = partial(query_failed, data_dir=settings.data_dir)
        self._query = Lasting(NAME, self._begin, told, reachable)

    def start(self) -> None:
        """Become the owner and begin to decide.

        Raises:
            Misfit: The checkpoint does not continue where the marker ends.
            NotPublished, Unreachable, VerdictError: As `take_over` does.
        """
        self._take_over()
        self._query.start()

    def rehearse(self) -> None:
        """Return when an empty batch has been through the operator: its workers do connect.

        Raises:
            Late: They did not, again and again.
        """
        nothing = self._spark.createDataFrame([], KAFKA_COLUMNS)
        for left in reversed(range(REHEARSALS)):
            try:
                self._decided(nothing, []).toArrow()
                return
            except Exception as error:
                told = query_failed(error, self._settings.data_dir)
                if not (left and isinstance(told, Late)):
                    raise told from error

    def check(self) -> None:
        """Return while it runs, or waits for Kafka to come back.

        Raises:
            VerdictError: It stopped because of something that a person can act on.
            Exception: It stopped because of a bug.
        """
        self._query.check()
        if self._watch is not None:
            self._watch.check()

    @property
    def stopped(self) -> dict[str, str]:
        """Its name and what it waits for, as long as a batch cannot be done."""
        return {} if self._query.waits is None else {NAME: self._query.waits}

    def stop(self) -> None:
        """End after the batch that is under way; what is not published by then comes next time."""
        if jvm_exit_code(self._spark) is None:
            self._query.stop()
        if self._publisher is not None:
            self._publisher.close()
        if self._watch is not None:
            self._watch.close()

    def _begin(self) -> StreamingQuery:
        """Start Spark's query where its checkpoint ends; the publisher is there already."""
        assert self._generation is not None
        rmtree(self._outputs, ignore_errors=True)  # of a batch that was killed
        remove_torn_files(self._checkpoint)
        seeds = self._generation.seeds(checkpoint_position(self._checkpoint))
        return (
            self._decided(self._commands(), seeds)
            .writeStream.queryName(NAME)
            .option("checkpointLocation", str(self._checkpoint))
            .outputMode("append")
            .trigger(processingTime=f"{self._settings.trigger_ms} milliseconds")
            .foreachBatch(self._query.kept(self._publish))
            .start()
        )

    def _decided(self, commands: DataFrame, seeds: list[tuple[int, str]]) -> DataFrame:
        assert self._publisher is not None
        shards = self._publisher.marker.shards
        self._spark.conf.set("spark.sql.shuffle.partitions", str(shards))
        self._shards = self._shards or shard_keys(self._spark, shards)
        return decisions(
            commands,
            self._processor(),
            self._shards,
            self._settings.command_limit_bytes,
            self._spark.createDataFrame(seeds, SEEDS_SCHEMA) if seeds else None,
        )

    def _take_over(self) -> None:
        """Become the owner of the generation that the marker names."""
        query = decider_query(self._settings.topics, self._settings.shards)
        generation = self._current(query)
        try:
            self._take_over_as(query, generation)
        except Misfit:
            # the marker of a recovery may have stood behind a transaction that was open
            newer = self._current(query)
            if newer.number == generation.number:
                raise
            self._take_over_as(query, newer)

    def _take_over_as(self, query: Query, generation: Generation) -> None:
        position = checkpoint_position(generation.checkpoint)
        generation.seeds(position)  # a damaged one is refused before anybody is disturbed
        query = replace(query, seeded=generation.number if generation.seeded else None)
        self._publisher = take_over(query, self._kafka, position, self._on_step)
        self._watch = Watch(self._kafka, query, self._publisher.marker.owner)
        self._checkpoint = generation.checkpoint
        self._generation = generation
        generation.note_formats()
        generation.tidy(position)

    def _current(self, query: Query) -> Generation:
        marker = read_marker(self._kafka, query, wait=False).marker
        return generation_of(self._settings.data_dir, marker)

    def _commands(self) -> DataFrame:
        topics, publisher = self._settings.topics, self._publisher
        assert publisher is not None
        partitions = dict.fromkeys(topics.every_commands(), topics.partitions)
        return (
            self._spark.readStream.format("kafka")
            .options(**self._source)
            .option("kafka.isolation.level", "read_committed")
            .option("failOnDataLoss", "true")
            .option("includeHeaders", "true")
            .option("subscribe", ",".join(partitions))
            .option("startingOffsets", starting_offsets(publisher.marker.offsets, partitions))
            .option("maxOffsetsPerTrigger", self._settings.max_rows_per_batch)
            .load()
        )

    def _processor(self) -> CommandProcessor:
        settings = self._settings
        state = partial(LogStructuredState, folder=settings.data_dir.absolute() / "state")
        planned = partial(planned_at, self._checkpoint)
        return CommandProcessor(settings.topics, limits_of(settings), state, self._outputs, planned)

    def _publish(self, frame: DataFrame, batch_id: int) -> None:
        assert self._publisher is not None
        table = frame.toArrow()  # the only evaluation: every one runs the operator
        moves = told_moves(moves_of(table), self._shards)
        batch = replace(batch_of(self._checkpoint, batch_id), moves=moves)
        if in_files(table):
            self._publisher.publish(batch, Records(table))
        else:
            with collector_paused():
                self._publisher.publish(batch, list(Records(table)))
        rmtree(self._outputs, ignore_errors=True)


def limits_of(settings: Settings) -> Limits:
    """Return what bounds a decision."""
    return Limits(settings.events_limit_bytes, settings.command_memory_hours * HOUR_MS)


class Records(Collection[OutputRecord]):
    """What is in a table of outputs, and in the files that it names; read anew each time."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __iter__(self) -> Iterator[OutputRecord]:
        for chunk in chunks_of(self._table):
            yield from map(OutputRecord._make, unpacked(chunk))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, record: object) -> bool:
        return any(record == other for other in self)

"""The decider, running: commands from Kafka through the operator into one transaction a batch."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from shutil import rmtree

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from aggregates.handle import Limits
from aggregates.operator.chunk import unpacked
from aggregates.operator.handover import chunks_of, in_files
from aggregates.operator.log_structured import LogStructuredState
from aggregates.operator.processor import CommandProcessor
from aggregates.operator.seed import SEEDS_SCHEMA
from aggregates.operator.stream import decisions
from compose.configuration.settings import Settings
from compose.exactly_once.batch import OutputRecord
from compose.exactly_once.checkpoint import (
    batch_of,
    checkpoint_position,
    remove_torn_files,
    starting_offsets,
)
from compose.exactly_once.errors import Misfit
from compose.exactly_once.kafka import Kafka
from compose.exactly_once.markers import read_marker
from compose.exactly_once.owner import take_over
from compose.exactly_once.publisher import Publisher
from compose.exactly_once.query import Query
from compose.exactly_once.steps import OnStep, unobserved
from compose.exactly_once.watch import Watch
from compose.generation import Generation, generation_of
from compose.local.spark import jvm_exit_code
from compose.queries.decider import NAME, decider_query
from compose.spark_errors import query_failed
from schemas.collector import collector_paused

HOUR_MS = 60 * 60 * 1000


class Deciding:
    """The one query that decides for all aggregate types.

    Args:
        spark: Where it runs.
        kafka: Where everything is published.
        source: Options of Spark's Kafka source, `kafka.bootstrap.servers` and security among them.
        settings: Names, limits and sizes.
        on_step: Called at each step of publishing.
    """

    def __init__(
        self,
        spark: SparkSession,
        kafka: Kafka,
        source: Mapping[str, str],
        settings: Settings,
        on_step: OnStep = unobserved,
    ) -> None:
        self._spark = spark
        self._kafka = kafka
        self._source = source
        self._settings = settings
        self._on_step = on_step
        self._checkpoint = Path()
        self._outputs = settings.data_dir.absolute() / "outputs"
        self._publisher: Publisher | None = None
        self._watch: Watch | None = None
        self._running: StreamingQuery | None = None
        self._failure: BaseException | None = None

    def start(self) -> None:
        """Become the owner and begin to decide.

        Raises:
            Misfit: The checkpoint does not continue where the marker ends.
            NotPublished, Unreachable, VerdictError: As `take_over` does.
        """
        seeds = self._take_over()
        assert self._publisher is not None
        rmtree(self._outputs, ignore_errors=True)  # of a batch that was killed
        remove_torn_files(self._checkpoint)
        shards = self._publisher.marker.shards
        self._spark.conf.set("spark.sql.shuffle.partitions", str(shards))
        decided = decisions(
            self._commands(),
            self._processor(),
            shards,
            self._settings.command_limit_bytes,
            self._spark.createDataFrame(seeds, SEEDS_SCHEMA) if seeds else None,
        )
        self._running = (
            decided.writeStream.queryName(NAME)
            .option("checkpointLocation", str(self._checkpoint))
            .outputMode("append")
            .trigger(processingTime=f"{self._settings.trigger_ms} milliseconds")
            .foreachBatch(self._publish)
            .start()
        )

    def check(self) -> None:
        """Return while it runs.

        Raises:
            VerdictError: It stopped because of something that a person can act on.
            Exception: It stopped because of a bug.
        """
        if self._running is not None and not self._running.isActive:
            failure = self._failure or self._running.exception()
            stopped = failure or RuntimeError("the decider stopped")
            raise query_failed(stopped, self._settings.data_dir)
        if self._watch is not None:
            self._watch.check()

    def stop(self) -> None:
        """End after the batch that is under way; what is not published by then comes next time."""
        if self._running is not None and jvm_exit_code(self._spark) is None:
            self._running.stop()
        if self._publisher is not None:
            self._publisher.close()
        if self._watch is not None:
            self._watch.close()

    def _take_over(self) -> list[tuple[int, str]]:
        """Become the owner of the generation that the marker names; return what it begins with."""
        query = decider_query(self._settings.topics, self._settings.shards)
        generation = self._current(query)
        try:
            return self._take_over_as(query, generation)
        except Misfit:
            # the marker of a recovery may have stood behind a transaction that was open
            newer = self._current(query)
            if newer.number == generation.number:
                raise
            return self._take_over_as(query, newer)

    def _take_over_as(self, query: Query, generation: Generation) -> list[tuple[int, str]]:
        position = checkpoint_position(generation.checkpoint)
        query = replace(query, seeded=generation.number if generation.seeded else None)
        self._publisher = take_over(query, self._kafka, position, self._on_step)
        self._watch = Watch(self._kafka, query, self._publisher.marker.owner)
        self._checkpoint = generation.checkpoint
        generation.note_formats()
        generation.tidy(position)
        return generation.seeds(position)

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
        return CommandProcessor(settings.topics, limits_of(settings), state, self._outputs)

    def _publish(self, frame: DataFrame, batch_id: int) -> None:
        assert self._publisher is not None
        try:
            table = frame.toArrow()  # the only evaluation: every one runs the operator
            batch = batch_of(self._checkpoint, batch_id)
            if in_files(table):
                self._publisher.publish(batch, Records(table))
            else:
                with collector_paused():
                    self._publisher.publish(batch, list(Records(table)))
            rmtree(self._outputs, ignore_errors=True)
        except BaseException as error:
            self._failure = error  # Spark would keep its text only
            raise


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

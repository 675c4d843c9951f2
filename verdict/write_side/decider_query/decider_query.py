"""The running decider: commands from Kafka through the operator into a transaction per batch."""

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from verdict.adapters.kafka.topic_drift import PartitionsAddedError
from verdict.adapters.spark.errors import query_failed
from verdict.adapters.sql.time_text import wall_clock
from verdict.adapters.storage.folders import durable_dir
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.batch import SourceBatch
from verdict.streaming.exactly_once.checkpoint import (
    checkpoint_position,
    plan_empty_batch,
    remove_torn_files,
)
from verdict.streaming.exactly_once.errors import CheckpointMismatchError
from verdict.streaming.exactly_once.failpoints import OnStep, ignore_step
from verdict.streaming.exactly_once.fencing import OwnerWatch, claim_query
from verdict.streaming.exactly_once.log_identity import check_readable
from verdict.streaming.exactly_once.outputs import Outputs, chunks_of
from verdict.streaming.exactly_once.publisher import Publisher
from verdict.streaming.exactly_once.query import DECIDER, Query, decider_query
from verdict.streaming.exactly_once.read_progress import read_progress
from verdict.streaming.exactly_once.state_moves import moves_of
from verdict.streaming.queries.kafka_source import StreamContext, arriving
from verdict.streaming.queries.spark_query import ANSWERING_MS, SparkQuery
from verdict.write_side.decide.command_checks import Limits
from verdict.write_side.decider_query.generation import Generation, generation_of
from verdict.write_side.processor.latency import Latencies, waited_times
from verdict.write_side.processor.processor import CommandProcessor
from verdict.write_side.processor.spark_plan import decisions, planned_at, shard_keys
from verdict.write_side.state.lmdb_cache import executor_folder
from verdict.write_side.state.log_structured import LogStructuredState
from verdict.write_side.state.seed import SEEDS_SCHEMA

HOUR_MS = 60 * 60 * 1000


class DeciderQuery:
    """The one query that decides for all aggregate types; a component of a service."""

    def __init__(
        self,
        ground: StreamContext,
        settings: Settings,
        on_step: OnStep = ignore_step,
        latencies: Latencies | None = None,
    ) -> None:
        self._ground = ground
        self._settings = settings
        self._on_step = on_step
        self._latencies = latencies or Latencies()
        self._held = ExitStack()
        self._shards: list[int] = []
        self._is_seeded = False
        self._outputs = Outputs(durable_dir(settings) / "outputs")
        self._publisher: Publisher | None = None
        self._watch: OwnerWatch | None = None
        self._generation: Generation | None = None
        told = partial(query_failed, data_dir=durable_dir(settings), log=ground.log)
        self._query = SparkQuery(ground.spark, DECIDER, self._publish, told, ANSWERING_MS)

    @property
    def done(self) -> int:
        """How many batches it has published."""
        return self._query.done

    @property
    def undone(self) -> bool:
        """Whether the last batch failed, which is to be taken again."""
        return self._query.undone

    @property
    def is_seeded(self) -> bool:
        """Whether the first batch takes in what a recovery found, which may take long."""
        return self._is_seeded

    def start(self) -> None:
        """Become the owner and begin to decide; after `stop`, go on as the owner.

        Raises CheckpointMismatchError, or FencedError if another process is the owner since `stop`.
        """
        if self._watch is None:
            self._claim()
        else:
            self._watch.look()
        self._begin()

    def check(self) -> None:
        """Return while it runs; raise what stopped it, FencedError among others."""
        self._query.check()
        if self._watch is not None:
            self._watch.check()

    def stop(self) -> None:
        """Stop after the batch that is under way, and stay the owner."""
        self._query.stop()

    def close(self) -> None:
        """Stop, and let everything go; the next start publishes the rest."""
        self.stop()
        self._held.close()

    def _begin(self) -> None:
        """Start the query where its checkpoint ends; the publisher is there already."""
        assert self._generation is not None
        assert self._publisher is not None
        self._outputs.clear()  # of a batch that was killed
        checkpoint, progress = self._generation.checkpoint, self._publisher.progress
        remove_torn_files(checkpoint)
        seeds = self._generation.seeds(checkpoint_position(checkpoint))
        self._is_seeded = bool(seeds)
        ground, settings, spark = self._ground, self._settings, self._ground.spark
        spark.conf.set("spark.sql.shuffle.partitions", str(progress.shards))
        self._shards = self._shards or shard_keys(spark, progress.shards)
        partitions = ground.counted(settings.topics.every_commands())
        begin, rows = progress.offsets, settings.max_rows_per_batch
        decided = decisions(
            arriving(spark, ground.source, begin, partitions, rows, headers=True),
            self._processor(checkpoint),
            self._shards,
            settings.max_command_bytes,
            spark.createDataFrame(seeds, SEEDS_SCHEMA) if seeds else None,
        )
        self._query.start(decided, checkpoint, settings.trigger_ms)

    def _claim(self) -> None:
        """Become the owner of the generation that the progress record names."""
        query = decider_query(self._settings.topics, self._settings.shards)
        generation = self._current(query)
        try:
            self._claim_as(query, generation)
        except CheckpointMismatchError:
            # the progress record of a recovery may have been hidden by a transaction that was open
            newer = self._current(query)
            if newer.number == generation.number:
                raise
            self._claim_as(query, newer)

    def _claim_as(self, query: Query, generation: Generation) -> None:
        position = checkpoint_position(generation.checkpoint)
        generation.seeds(position)  # a damaged one is refused before anybody is disturbed
        former = generation.others()
        query = replace(query, seeded=generation.number if generation.seeded else None)
        kafka, self._generation = self._ground.kafka, generation
        publisher = self._publisher = claim_query(query, kafka, position, self._on_step)
        self._held.callback(publisher.close)
        if not check_readable(query, kafka, publisher.progress, position):
            plan_empty_batch(generation.checkpoint, position)
        self._watch = OwnerWatch(kafka, query, publisher.progress)
        self._held.callback(self._watch.close)
        generation.note_formats(self._settings.application)
        generation.tidy(position, former)

    def _current(self, query: Query) -> Generation:
        progress = read_progress(self._ground.kafka, query, wait=False).progress
        return generation_of(durable_dir(self._settings), progress)

    def _processor(self, checkpoint: Path) -> CommandProcessor:
        settings, folder = self._settings, self._outputs.folder
        here = None if settings.spark_master else settings.data_dir.absolute() / "state"
        state, planned = partial(_state, folder=here), partial(planned_at, checkpoint)
        return CommandProcessor(settings.topics, limits_of(settings), state, folder, planned)

    def _publish(self, frame: DataFrame, planned: SourceBatch) -> None:
        assert self._publisher is not None
        known = self._ground.counted(planned.end)
        for topic, offsets in planned.end.items():
            if len(offsets) > known[topic]:  # keys have moved
                raise PartitionsAddedError(topic, known[topic], len(offsets))
        table = frame.toArrow()  # the only evaluation: every one runs the operator
        batch = replace(planned, moves=moves_of(table, self._shards))
        if self._publisher.publish(batch, partial(chunks_of, table)):
            now = wall_clock()
            self._latencies.note(waited_times(table, now), now)
        self._outputs.clear()


def _state(handle: Any, folder: Path | None) -> LogStructuredState:
    """Return the state of a shard; on a cluster its copy is in a folder of the executor."""
    return LogStructuredState(handle, folder or executor_folder())


def limits_of(settings: Settings) -> Limits:
    """Return what bounds a decision."""
    return Limits(settings.max_events_bytes, settings.deduplication_window_hours * HOUR_MS)

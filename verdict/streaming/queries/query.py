"""One life of a streaming query: begun on a checkpoint, looked after, stopped; and again."""

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from verdict.adapters.spark.interpreting import CodegenSwitch
from verdict.adapters.spark.location import local_path
from verdict.adapters.spark.pools import own_pool
from verdict.adapters.spark.session import jvm_exit_code
from verdict.streaming.exactly_once.batch import SourceBatch
from verdict.streaming.exactly_once.checkpoint import batch_of
from verdict.streaming.queries.batches_under_way import batch_under_way
from verdict.streaming.queries.trigger import FOLLOWING_MS, Pauses

Take = Callable[[DataFrame, SourceBatch], None]
Told = Callable[[BaseException], BaseException]


class SparkQuery:
    """Has batches taken, one at a time, until it fails or is stopped.

    Args:
        spark: Where it runs.
        name: Of the query and its pool, for people too.
        take: Does what a batch is for; in the driver.
        told: What ended it, as Spark or `take` raised it → what to tell people.
        idle_ms: How long it waits before it looks again when nothing has come for some time.

    Attributes:
        done: How many batches have been taken, in all its lives.
        undone: Whether the last one failed, which is to be taken again.
    """

    def __init__(
        self,
        spark: SparkSession,
        name: str,
        take: Take,
        told: Told,
        idle_ms: int = FOLLOWING_MS,
    ) -> None:
        self.done = 0
        self.undone = False
        self._spark = spark
        self._name = name
        self._take = take
        self._told = told
        self._idle_ms = idle_ms
        self._running: StreamingQuery | None = None
        self._pauses: Pauses | None = None
        self._interpreting = CodegenSwitch()
        self._failure: BaseException | None = None

    def start(self, records: DataFrame, checkpoint: Path, trigger_ms: int) -> None:
        """Begin where a checkpoint ends."""
        self._failure = None
        self._interpreting = CodegenSwitch()  # each life has a session of its own
        writer = (
            records.writeStream.queryName(self._name)
            .option("checkpointLocation", local_path(checkpoint))
            .trigger(processingTime=f"{trigger_ms} milliseconds")
            .foreachBatch(lambda frame, batch_id: self._take_one(frame, checkpoint, batch_id))
        )
        with own_pool(self._spark, self._name):
            self._running = writer.start()
        self._pauses = Pauses(self._spark, self._running, self._idle_ms)

    def check(self) -> None:
        """Return while it runs, or is stopped.

        Raises:
            VerdictError: It failed because of something that a person can act on.
            Exception: It failed because of a bug.
        """
        if self._running is not None and not self._running.isActive:
            failure = self._failure or self._running.exception()
            raise self._told(failure or RuntimeError(f"the query {self._name} stopped"))
        if self._running is not None and self._pauses is not None:
            self._pauses.look()

    def fail(self, error: BaseException) -> None:
        """Stop because of what went wrong beside it; others may follow from the first error."""
        self._failure = self._failure or error
        self._end()

    def stop(self) -> None:
        """End after the batch that is under way; nothing is asked of a JVM that is gone."""
        self._end()
        self._running = None

    def _end(self) -> None:
        if self._running is not None and jvm_exit_code(self._spark) is None:
            self._running.stop()

    def _take_one(self, frame: DataFrame, checkpoint: Path, batch_id: int) -> None:
        if self._pauses is not None:  # else the first one came before `start` returned
            self._pauses.worked()
        try:
            with batch_under_way(self._name, batch_id):
                batch = batch_of(checkpoint, batch_id)
                self._interpreting.suit(frame.sparkSession, batch.size)
                self._take(frame, batch)
        except BaseException as error:
            self._failure = self._failure or error  # Spark would keep its text only
            self.undone = True
            raise
        self.done += 1
        self.undone = False

"""A streaming query that can be started again."""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from verdict.adapters.spark.query_settings import CodegenSwitch, local_path, own_pool
from verdict.adapters.spark.session import jvm_exit_code
from verdict.streaming.exactly_once.batch import SourceBatch
from verdict.streaming.exactly_once.checkpoint import batch_of
from verdict.streaming.queries.batches_under_way import batch_under_way

LOG = logging.getLogger("verdict.pauses")
EXECUTION = "org.apache.spark.sql.execution.streaming.runtime.StreamExecution"
FIELD = "pollingDelayMs"
IDLE_AFTER_S = 10.0
# After an idle time the first record waits half of it, on average: senders wait for a response,
# and no one for what follows from it.
ANSWERING_MS, FOLLOWING_MS = 500, 2_000

Take = Callable[[DataFrame, SourceBatch], None]
ErrorTranslation = Callable[[BaseException], BaseException]


class SparkQuery:
    """Takes batches, one at a time, until it fails or is stopped.

    `take` does in the driver what a batch is for. `translate` turns what ended the query into a
    readable error. `done` counts batches; `undone` says that the last one failed and comes again.
    """

    def __init__(
        self,
        spark: SparkSession,
        name: str,
        take: Take,
        translate: ErrorTranslation,
        idle_ms: int = FOLLOWING_MS,
    ) -> None:
        self.done = 0
        self.undone = False
        self._spark = spark
        self._name = name
        self._take = take
        self._translate = translate
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
        with own_pool(self._spark, self._name), self._interpreting.first_batch(self._spark):
            self._running = writer.start()
        self._pauses = Pauses(self._spark, self._running, self._idle_ms)

    def check(self) -> None:
        """Return while it runs, or is stopped; raise why it failed, as `translate` says."""
        if self._running is not None and not self._running.isActive:
            failure = self._failure or self._running.exception()
            raise self._translate(failure or RuntimeError(f"the query {self._name} stopped"))
        if self._running is not None and self._pauses is not None:
            self._pauses.look()

    def fail(self, error: BaseException) -> None:
        """Stop because of an error outside of it; the first error counts."""
        self._failure = self._failure or error
        self._end()

    def stop(self) -> None:
        """End after the batch that is under way, if the JVM is still there."""
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


class Pauses:
    """Lengthens the pauses of a query that has had no batch for some time.

    Spark looks again after ten milliseconds, which costs broker and JVM a third of a core. It reads
    the pause once for a query's whole life (`spark.sql.streaming.pollingDelay`), so it is set in
    the field that `MicroBatchExecution` sleeps by.
    """

    def __init__(
        self,
        spark: SparkSession,
        query: StreamingQuery,
        idle_ms: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._idle_ms = idle_ms
        self._clock = clock
        self._execution: Any = query._jsq.streamingQuery()
        self._field = _field(spark)
        self._busy_ms = self._now_ms = 0 if self._field is None else self.ms
        self._worked_at = clock()

    @property
    def ms(self) -> int:
        """How long a pause is now, in milliseconds."""
        return 0 if self._field is None else int(self._field.getLong(self._execution))

    def worked(self) -> None:
        """Look again soon: there was a batch."""
        self._worked_at = self._clock()
        self._be(self._busy_ms)

    def look(self) -> None:
        """Look again later, if there was no batch for some time."""
        if self._clock() - self._worked_at > IDLE_AFTER_S:
            self._be(max(self._busy_ms, self._idle_ms))

    def _be(self, ms: int) -> None:
        if self._field is not None and ms != self._now_ms:
            self._field.setLong(self._execution, ms)
            self._now_ms = ms


def _field(spark: SparkSession) -> Any:
    """Return the field; None of a Spark that has another one."""
    try:
        found: Any = spark._jvm.java.lang.Class.forName(EXECUTION).getDeclaredField(FIELD)  # type: ignore[union-attr]
    except Py4JJavaError:
        LOG.warning("this Spark has no %s: a service with nothing to do costs more", FIELD)
        return None
    found.setAccessible(True)
    return found

"""Threads that bring projections forward, part by part, until the live query takes them along."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing

from pyspark import InheritableThread
from pyspark.sql import SparkSession

from verdict.adapters.spark.gc import collector_paused
from verdict.adapters.spark.query_settings import POOL
from verdict.adapters.spark.session import jvm_exit_code
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import ProjectionBatch
from verdict.read_side.live.batch_split import Reached, is_passed, lag, next_part
from verdict.read_side.live.live_head import LiveHead, apply_rest, reached_by
from verdict.read_side.live.read_ahead import read_ahead
from verdict.read_side.live.source import KafkaBatches
from verdict.wire.partitions import Spans

NAME = "catching-up"  # of the threads, and of the pool of Spark's scheduler that they share
PATIENCE_S = 30.0  # for a thread that ends


class CatchUp:
    """Cohorts of appliers, each brought forward by a thread of its own.

    A part is one job of Spark, of bounded size, in a pool of its own: tasks of other queries wait
    for one of its tasks, and not for all of them. The next part is read while one is applied.

    Args:
        spark: Reads and decodes.
        batches: Of the deployment.
        front: Where the cohorts go.
        failed: Called with what ended a thread, when that was not `stop`.
    """

    def __init__(
        self,
        spark: SparkSession,
        batches: KafkaBatches,
        front: LiveHead,
        failed: Callable[[Exception], None],
    ) -> None:
        self._spark = spark
        self._batches = batches
        self._front = front
        self._failed = failed
        self._threads: list[threading.Thread] = []

    def bring(self, cohort: Sequence[Applier]) -> None:
        """Begin to bring appliers forward, which nobody else uses from now on."""
        thread = InheritableThread(self._run, args=[cohort], name=NAME, daemon=True)
        self._threads.append(thread)
        thread.start()

    def stop(self) -> None:
        """End all threads; what they have not committed by then is read again."""
        self._front.close()
        if self._threads and jvm_exit_code(self._spark) is None:
            self._spark.sparkContext.cancelJobGroup(NAME)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(PATIENCE_S)

    def _run(self, cohort: Sequence[Applier]) -> None:
        try:
            self._spark.sparkContext.setJobGroup(NAME, NAME)
            self._spark.sparkContext.setLocalProperty(POOL, NAME)
            self._bring(cohort)
        except Exception as error:
            if not self._front.is_closed:  # else a job was cancelled, as it should be
                self._failed(error)

    def _bring(self, cohort: Sequence[Applier]) -> None:
        while going := [*self._going(cohort)]:
            ends = self._front.offsets
            near = [one for one in going if self._is_near(reached_by(one, ends))]
            if not near:
                cohort = going
                self._run_up(cohort)
            elif len(near) < len(going):
                cohort = [one for one in going if one not in near]
                self.bring(near)
            elif self._front.join(near):
                return
            else:
                part = self._next([reached_by(one, ends) for one in near])
                self._apply(near, self._batches.between(part) if part else ())
                for applier in near:
                    apply_rest(applier, self._front)

    def _is_near(self, reached: Reached) -> bool:
        return lag(reached, self._front.offsets) <= self._batches.most

    def _going(self, cohort: Sequence[Applier]) -> Iterator[Applier]:
        """Yield those that go on: none that failed, and nobody once the live query ends."""
        if not self._front.is_closed:
            yield from (applier for applier in cohort if not applier.is_stopped)

    def _run_up(self, cohort: Sequence[Applier]) -> None:
        """Bring a cohort forward until one of it is near; read a part ahead."""
        with closing(read_ahead(self._spark, self._way(cohort))) as batches:
            for batch in batches:
                self._apply(cohort, [batch])

    def _way(self, cohort: Sequence[Applier]) -> Iterator[ProjectionBatch]:
        """Yield what lies before a cohort, whoever applies it and when."""
        reached: dict[Applier, Reached] = {
            one: reached_by(one, self._front.offsets) for one in cohort
        }
        while going := [reached[one] for one in self._going(cohort)]:
            if any(map(self._is_near, going)):
                return
            part = self._next(going)
            yield from self._batches.between(part)
            reached = {one: is_passed(offsets, part) for one, offsets in reached.items()}

    def _next(self, going: Sequence[Reached]) -> Spans:
        return next_part(going, self._front.offsets, self._batches.part)

    def _apply(self, cohort: Sequence[Applier], batches: Iterable[ProjectionBatch]) -> None:
        for batch in batches:
            with collector_paused():
                for applier in self._going(cohort):
                    applier.follow(batch)

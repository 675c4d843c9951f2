"""Brings all projections forward: one Spark query, one SQL transaction per projection and batch.

The position in SQL is the truth. Spark's checkpoint begins anew with every start and only tells
which offsets a batch covers. Projections that are far behind come up to the query beside it.
"""

import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from verdict.errors import Unreachable
from verdict.exactly_once.checkpoint import batch_of, starting_offsets
from verdict.kafka.offsets import Offsets
from verdict.projection import decision, versions
from verdict.projection.applier import Applier, wall_clock
from verdict.projection.database import one_line, see_that_it_is_the_same, snapshot
from verdict.projection.missing_events import missing_events
from verdict.projection.projection import Projection, StoppedAt
from verdict.projection.versions import Superseded
from verdict.read_models.batches.source import KafkaBatches
from verdict.read_models.catching_up.cohorts import CatchingUp
from verdict.read_models.catching_up.leading import Leading
from verdict.spark.errors import query_failed
from verdict.spark.session import jvm_exit_code
from verdict.spark.under_way import under_way
from verdict.wire.passed_over import PassedOver
from verdict.wire.spans import Partition, Span, Spans
from verdict.wire.topics import Topics

NAME = "projections"
LOOK_S = 1.0  # how often versions that stand still are looked after


class PassedOverSince(Exception):
    """People decided to pass over a record at which a projection stands still."""


LogBounds = Callable[[Sequence[Partition]], Spans]


class Projecting:
    """The running read side, from `start` to `stop`.

    A projection that fails, or that somebody else advances too, is parked and the others go on. The
    query ends by itself only when the database fails, Kafka lost records, or there is a bug;
    `check` says so then.

    Args:
        spark: Reads and decodes.
        batches: Of the deployment; a projection that is more of them behind than one catches up
            beside the others.
        log_bounds: Says from where to where Kafka's log goes in partitions; raises
            Unreachable when Kafka does not answer.
        database: With the tables of `create_read_side`.
        topics: Of the deployment; they exist, with as many partitions as it says.
        projections: In the order in which a batch updates them.
    """

    def __init__(
        self,
        spark: SparkSession,
        batches: KafkaBatches,
        log_bounds: LogBounds,
        database: Engine,
        topics: Topics,
        projections: Sequence[Projection],
    ) -> None:
        self._spark = spark
        self._batches = batches
        self._log_bounds = log_bounds
        self._database = database
        self._topics = topics
        self._projections = projections
        self._leading: Leading | None = None
        self._catching_up: CatchingUp | None = None
        self._checkpoint: tempfile.TemporaryDirectory[str] | None = None
        self._running: StreamingQuery | None = None
        self._failure: Exception | None = None
        self._scratch = Path()
        self._look_at = 0.0

    def start(self, scratch: Path, trigger_ms: int = 0) -> None:
        """Begin where those stand that are near the end of the log; bring the others there.

        Args:
            scratch: A directory for what no restart needs.
            trigger_ms: The least time between the beginnings of two batches.

        Raises:
            Unreachable: The database or Kafka does not answer.
        """
        self._failure, self._scratch = None, scratch
        try:
            appliers = [
                Applier(self._database, projection, self._topics, missing=missing_events)
                for projection in self._projections
            ]
            log = self._log({name for applier in appliers for name in applier.topics})
            self._leading = Leading(appliers, self._batches, log, trigger_ms / 1000)
        except DBAPIError as error:
            raise _for_people(error) from error
        front = self._leading.front
        self._checkpoint = tempfile.TemporaryDirectory(prefix=f"{NAME}-", dir=scratch)
        self._running = (
            self._batches.stream(_from(front.offsets))
            .writeStream.queryName(NAME)
            .option("checkpointLocation", self._checkpoint.name)
            .trigger(processingTime=f"{trigger_ms} milliseconds")
            .foreachBatch(self._apply)
            .start()
        )
        self._catching_up = CatchingUp(self._spark, self._batches, front, self._end)
        for cohort in self._leading.cohorts:
            self._catching_up.bring(cohort)

    def check(self) -> None:
        """Return while it runs.

        Raises:
            Superseded: Readers were given another version of a projection to see.
            PassedOverSince: What a projection could not read is to be passed over.
            Unreachable: The database failed.
            AnotherFile: The database's file was removed or replaced, whether batches come or not.
            VerdictError: It stopped because of something that a person can act on.
            Exception: It stopped because of a bug.
        """
        if self._running is not None and not self._running.isActive:
            if isinstance(self._failure, Superseded):
                raise self._failure
            failure = self._failure or self._running.exception()
            stopped = failure or RuntimeError(f"{NAME} stopped")
            raise query_failed(stopped, self._scratch, recoverable=False)
        if self._leading is not None and time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + LOOK_S
            see_that_it_is_the_same(self._database)
            self._look_after(self._leading.standing_still())

    def stop(self) -> None:
        """End the query; what it has not committed by then is applied after the next start."""
        if self._leading is not None:
            self._leading.front.close()
        if self._running is not None and jvm_exit_code(self._spark) is None:
            self._running.stop()
        if self._catching_up is not None:
            self._catching_up.stop()
        if self._checkpoint is not None:
            self._checkpoint.cleanup()

    def park(self, error: Exception) -> None:
        """Write down for readers that all of them stand still, and why; they are stopped.

        Raises:
            AnotherFile: There is nowhere to write it.
            DBAPIError: The database failed.
        """
        with self._database.begin() as connection:
            for projection in self._projections:
                if versions.of(connection, projection).error is None:
                    versions.stop(connection, projection, error, wall_clock())

    def _look_after(self, appliers: Sequence[Applier]) -> None:
        """Return when nothing has changed for those who stand still.

        Raises:
            Superseded: Readers see another version, which may go on where this one does not.
            PassedOverSince: The record that one cannot read is to be passed over.
            Unreachable: The database failed.
        """
        if not appliers:
            return
        try:
            with snapshot(self._database) as connection:
                passed_over = decision.passed_over(connection)
                for applier in appliers:
                    versions.check_live(connection, applier.projection)
                    see_that_it_must_stand(applier, passed_over, self._batches.passed_over)
        except DBAPIError as error:
            raise _for_people(error) from error

    def _log(self, topics: Collection[str]) -> Spans:
        followed = [topic for topic in self._topics.all() if topic.name in topics]
        places = [Partition(t.name, number) for t in followed for number in range(t.partitions)]
        return self._log_bounds(places)

    def _apply(self, frame: DataFrame, batch_id: int) -> None:
        assert self._checkpoint is not None
        assert self._leading is not None
        try:
            with under_way(NAME, batch_id):
                planned = batch_of(Path(self._checkpoint.name), batch_id)
                self._leading.apply(frame, _spans(planned.start, planned.end))
        except Exception as error:
            failure = self._failed(error)
            if failure is error:
                raise  # "from" itself would make it its own cause, for ever
            raise failure from error

    def _end(self, error: Exception) -> None:
        """Stop because of what went wrong beside the query."""
        failure = self._failed(error)
        if failure is not error:
            failure.__cause__ = error
        if self._running is not None and jvm_exit_code(self._spark) is None:
            self._running.stop()

    def _failed(self, error: Exception) -> Exception:
        """Return what to tell people: the first error, as others may follow from it."""
        if self._failure is None:
            self._failure = _for_people(error)
        return self._failure


def see_that_it_must_stand(applier: Applier, passed_over: PassedOver, known: PassedOver) -> None:
    """Return when nobody decided anew about the place at which a projection stands still.

    Args:
        applier: Of the projection.
        passed_over: All that is decided by now.
        known: What was when this run began: it stands still in spite of that.

    Raises:
        PassedOverSince: The place is passed over by now.
    """
    failure = applier.failure
    if not isinstance(failure, StoppedAt) or known.holds(*failure.place):
        return
    if passed_over.holds(*failure.place):
        place = ":".join(map(str, failure.place))
        raise PassedOverSince(f"{place}, which {applier.projection.name} waits at, is passed over")


def _from(offsets: Mapping[Partition, int]) -> dict[str, str]:
    start: dict[str, list[int]] = {}
    for place, offset in sorted(offsets.items()):
        start.setdefault(place.topic, []).append(offset)
    sizes = {topic: len(found) for topic, found in start.items()}
    return {"subscribe": ",".join(start), "startingOffsets": starting_offsets(start, sizes)}


def _spans(start: Offsets, end: Offsets) -> dict[Partition, Span]:
    return {
        Partition(topic, number): Span(start[topic][number], offset)
        for topic, offsets in end.items()
        for number, offset in enumerate(offsets)
    }


def _for_people(error: Exception) -> Exception:
    if isinstance(error, DBAPIError):
        return Unreachable(f"the database of the read side failed: {one_line(error.orig)}")
    return error

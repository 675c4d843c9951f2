"""Brings all projections forward: one Spark query, one SQL transaction per projection and batch.

The position in SQL is the truth. Spark's checkpoint begins anew with every start and only tells
which offsets a batch covers. Projections that are far behind come up to the query beside it.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from verdict.adapters.spark.errors import query_failed
from verdict.adapters.sql.sqlite_file import DatabaseFileChangedError, one_line_error
from verdict.adapters.sql.time_text import wall_clock
from verdict.errors import RestartRequestedError, UnreachableError
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.missing_events import missing_events
from verdict.read_side.live.catch_up import CatchUp
from verdict.read_side.live.live_set import LiveSet
from verdict.read_side.live.source import KafkaBatches
from verdict.read_side.projections.projection import Projection, ProjectionStoppedError
from verdict.read_side.schema.database import require_same_database, snapshot
from verdict.read_side.tables import skips, source_topics, versions
from verdict.streaming.exactly_once.batch import SourceBatch
from verdict.streaming.queries.query import SparkQuery
from verdict.streaming.queries.source import StreamContext
from verdict.wire.partitions import Spans
from verdict.wire.skip_record import SkippedRanges
from verdict.wire.topics import Topics

NAME = "projections"
LOG = logging.getLogger("verdict.read_side")
LOOK_S = 1.0  # how often versions that are stopped are looked after


class SkippedSinceError(RestartRequestedError):
    """People decided to pass over a record at which a projection stopped."""


LogBounds = Callable[[Collection[str]], Spans]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedProjection:
    """The read side as a start finds it.

    Args:
        database: With the tables of `create_read_side`.
        projections: In the order in which a batch updates them.
        batches: Of the deployment; a projection that is more of them behind than one catches up
            beside the others.
    """

    database: Engine
    projections: Sequence[Projection]
    batches: KafkaBatches


class LiveProjections:
    """The running read side, from `start` to `stop`, and again.

    A projection that fails, or that somebody else advances too, is stopped and the others go on.
    The query ends by itself only when the database fails, Kafka lost records, or there is a bug;
    `check` says so then.

    Args:
        ground: Reads and decodes.
        opened: Called at each start.
        log_bounds: Says from where to where Kafka's log goes in all partitions of topics; raises
            UnreachableError when Kafka does not answer.
        topics: Of the deployment; they exist.
        trigger_ms: The least time between the beginnings of two batches.
    """

    def __init__(
        self,
        ground: StreamContext,
        opened: Callable[[], OpenedProjection],
        log_bounds: LogBounds,
        topics: Topics,
        trigger_ms: int = 0,
    ) -> None:
        self._ground = ground
        self._open = opened
        self._log_bounds = log_bounds
        self._topics = topics
        self._trigger_ms = trigger_ms
        self._opened: OpenedProjection | None = None
        self._leading: LiveSet | None = None
        self._held = ExitStack()
        self._query = SparkQuery(ground.spark, NAME, self._apply, self._told)
        self._look_at = 0.0

    @property
    def done(self) -> int:
        """How many batches it has applied."""
        return self._query.done

    @property
    def undone(self) -> bool:
        """Never: a start that succeeds has asked the database and Kafka."""
        return False

    def start(self) -> None:
        """Begin where those stand that are near the end of the log; bring the others there.

        Raises:
            UnreachableError: The database or Kafka does not answer.
            VerdictError: The database does not fit.
        """
        self._opened = None  # else what is said of the last one may be written into another
        opened = self._opened = self._open()
        held = self._held  # left from the last to the first
        held.callback(opened.database.dispose)  # the last one out takes SQLite's log into its file
        with _in_words():
            leading = self._leading = self._led(opened)
        checkpoint = held.enter_context(
            TemporaryDirectory(prefix=f"{NAME}-", dir=self._ground.scratch)
        )
        beside = CatchUp(self._ground.spark, opened.batches, leading.front, self._query.fail)
        held.callback(beside.stop)
        held.callback(self._query.stop)
        held.callback(leading.front.close)
        records = opened.batches.stream(leading.front.offsets)
        self._query.start(records, Path(checkpoint), self._trigger_ms)
        for cohort in leading.cohorts:
            beside.bring(cohort)

    def check(self) -> None:
        """Return while it runs.

        Raises:
            RestartRequestedError: Readers were given another version of a projection to see, or
                what one could not read is to be passed over.
            UnreachableError: The database failed.
            DatabaseFileChangedError: The database's file was removed or replaced, whether batches
                come or not.
            VerdictError: It stopped because of something that a person can act on.
            Exception: It stopped because of a bug.
        """
        self._query.check()
        if self._opened is not None and time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + LOOK_S
            require_same_database(self._opened.database)
            with _in_words():
                self._look_after(self._opened)

    def stop(self) -> None:
        """End the query; what it has not committed by then is applied after the next start."""
        self._held.close()

    def note_end(self, error: Exception) -> None:
        """Stop, and write down for readers that all of them are stopped, and why."""
        self.stop()
        if self._opened is None:
            return
        try:
            with self._opened.database.begin() as connection:
                for projection in self._opened.projections:
                    if versions.of(connection, projection).error is None:
                        versions.stop(connection, projection, error, wall_clock())
        except DatabaseFileChangedError:
            pass  # which has been said, and the file in its place is not ours to write to
        except DBAPIError as failure:
            LOG.error("that could not be written down: %s", one_line_error(failure.orig))

    def _led(self, opened: OpenedProjection) -> LiveSet:
        appliers = [
            Applier(opened.database, projection, self._topics, missing=missing_events)
            for projection in opened.projections
        ]
        with opened.database.begin() as connection:
            source_topics.note_followed(
                connection, {one.projection.name: one.topics for one in appliers}
            )
        log = self._log_bounds(sorted({name for one in appliers for name in one.topics}))
        return LiveSet(appliers, opened.batches, log, self._trigger_ms / 1000)

    def _look_after(self, opened: OpenedProjection) -> None:
        """Return when nothing has changed for those that are stopped."""
        assert self._leading is not None
        if appliers := self._leading.stopped():
            with snapshot(opened.database) as connection:
                passed_over = skips.passed_over(connection)
                for applier in appliers:
                    versions.check_live(connection, applier.projection)
                    require_still_stopped(applier, passed_over, opened.batches.passed_over)

    def _apply(self, frame: DataFrame, batch: SourceBatch) -> None:
        assert self._leading is not None
        self._leading.apply(frame, batch.spans)

    def _told(self, error: BaseException) -> BaseException:
        if not isinstance(error, DBAPIError):
            return query_failed(error, self._ground.scratch, self._ground.log, recoverable=False)
        told = _unreachable(error)
        told.__cause__ = error
        return told


def require_still_stopped(
    applier: Applier, passed_over: SkippedRanges, known: SkippedRanges
) -> None:
    """Return when nobody decided anew about the place at which a projection stopped.

    Raises:
        SkippedSinceError: The place is passed over by now.
    """
    failure = applier.failure
    if not isinstance(failure, ProjectionStoppedError) or known.holds(*failure.place):
        return
    if passed_over.holds(*failure.place):
        place = ":".join(map(str, failure.place))
        raise SkippedSinceError(f"{place}, which stopped {applier.projection.name}, is passed over")


@contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        raise _unreachable(error) from error


def _unreachable(error: DBAPIError) -> UnreachableError:
    return UnreachableError(f"the database of the read side failed: {one_line_error(error.orig)}")

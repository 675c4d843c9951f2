"""Brings all projections forward: one Spark query, one SQL transaction per projection and batch.

The position in SQL is the truth: Spark's checkpoint is a new one with every start, and only has
which offsets a batch covers. Projections that are far behind catch up in a thread of their own.
"""

import logging
import threading
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
from verdict.read_side.apply.batch import NOTHING, ProjectionBatch
from verdict.read_side.apply.missing_events import missing_events
from verdict.read_side.live.catch_up import CatchUp, lag, reached_by
from verdict.read_side.live.source import KafkaBatches
from verdict.read_side.projections.projection import Projection, ProjectionStoppedError
from verdict.read_side.schema.database import require_same_database, snapshot
from verdict.read_side.tables import skips, source_topics, versions
from verdict.streaming.exactly_once.batch import SourceBatch
from verdict.streaming.queries.query import SparkQuery
from verdict.streaming.queries.source import StreamContext
from verdict.wire.partitions import OffsetRange, PartitionOffsets, Spans
from verdict.wire.skip_record import SkippedRanges
from verdict.wire.topics import Topics

NAME = "projections"
LOG = logging.getLogger("verdict.read_side")
LOOK_S = 1.0  # how often versions that are stopped are looked after
NEAR = 5  # batches at most that the live query reads again at a start for one that is behind


class SkippedSinceError(RestartRequestedError):
    """People have skipped a record at which a projection stopped."""


LogBounds = Callable[[Collection[str]], Spans]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedProjection:
    """The read side as a start finds it: the projections are in the order of their updates."""

    database: Engine
    projections: Sequence[Projection]
    batches: KafkaBatches


class LiveProjections:
    """The running read side, from `start` to `stop`, and again.

    A projection that fails, or that another runner advances too, is stopped and the others go on.
    The query ends by itself only when the database fails, Kafka lost records, there is a bug, or a
    projection has caught up; `check` raises that then.
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
        self._appliers: list[Applier] = []
        self._live: list[Applier] = []  # those that the query brings forward
        self._held = ExitStack()
        self._ending = threading.Event()
        self._query = SparkQuery(ground.spark, NAME, self._apply, self._explain)
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
        """Begin at the position of the last projection that is near the end of the log."""
        self._opened = None  # else an error of this start may be written into the former database
        opened = self._opened = self._open()
        self._ending.clear()
        held = self._held  # left from the last to the first
        held.callback(opened.database.dispose)  # the last one out takes SQLite's log into its file
        with _translate_errors():
            begin = self._choose_live(opened)
        checkpoint = held.enter_context(
            TemporaryDirectory(prefix=f"{NAME}-", dir=self._ground.scratch)
        )
        behind = [one for one in self._appliers if not one.is_stopped and one not in self._live]
        catch_up = CatchUp(
            self._ground.spark, opened.batches, behind, self._log_ends, self._query.fail
        )
        held.callback(catch_up.stop)
        held.callback(self._query.stop)
        held.callback(self._ending.set)
        self._query.start(opened.batches.stream(begin), Path(checkpoint), self._trigger_ms)
        catch_up.start()

    def check(self) -> None:
        """Return while it runs."""
        self._query.check()
        if self._opened is not None and time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + LOOK_S
            require_same_database(self._opened.database)
            with _translate_errors():
                self._check_stopped(self._opened)

    def stop(self) -> None:
        """End the query; what it has not committed by then is applied after the next start."""
        self._held.close()

    def note_end(self, error: Exception) -> None:
        """Stop, and record for readers that all of them are stopped, and why."""
        self.stop()
        if self._opened is None:
            return
        try:
            with self._opened.database.begin() as connection:
                for projection in self._opened.projections:
                    if versions.of(connection, projection).error is None:
                        versions.stop(connection, projection, error, wall_clock())
        except DatabaseFileChangedError:
            pass  # `error` says so already, and the file in its place is not ours to write to
        except DBAPIError as failure:
            LOG.error("that could not be recorded: %s", one_line_error(failure.orig))

    def _choose_live(self, opened: OpenedProjection) -> PartitionOffsets:
        """Choose those that the query brings forward, and return where it begins.

        One that needs what Kafka no longer has is stopped here, unless people decided to skip that.
        """
        appliers = self._appliers = [
            Applier(opened.database, projection, self._topics, missing=missing_events)
            for projection in opened.projections
        ]
        with opened.database.begin() as connection:
            source_topics.note_followed(
                connection, {one.projection.name: one.topics for one in appliers}
            )
        log = self._log_bounds(self._followed())
        ends = {place: kept.end for place, kept in log.items()}
        for applier in appliers:
            starts = {place: log[place].start for place in reached_by(applier, log)}
            gone = {
                place: OffsetRange(start, start)
                for place, start in starts.items()
                if applier.positions.get(place, 0) < start
            }
            if gone:
                applier.apply(ProjectionBatch([], gone))
        reached = {one: reached_by(one, ends) for one in appliers if not one.is_stopped}
        near = NEAR * opened.batches.most
        self._live = [one for one in reached if lag(reached[one], ends) <= near]
        live = [reached[one] for one in self._live]
        return {
            place: min((one[place] for one in live if place in one), default=end)
            for place, end in ends.items()
        }

    def _followed(self) -> list[str]:
        return sorted({name for one in self._appliers for name in one.topics})

    def _log_ends(self) -> PartitionOffsets:
        return {place: kept.end for place, kept in self._log_bounds(self._followed()).items()}

    def _check_stopped(self, opened: OpenedProjection) -> None:
        if appliers := [one for one in self._appliers if one.is_stopped]:
            with snapshot(opened.database) as connection:
                passed_over = skips.passed_over(connection)
                for applier in appliers:
                    versions.check_live(connection, applier.projection)
                    require_still_stopped(applier, passed_over, opened.batches.passed_over)

    def _apply(self, frame: DataFrame, batch: SourceBatch) -> None:
        assert self._opened is not None
        for part in self._opened.batches.batches(frame, batch.spans) if self._live else ():
            for applier in self._live:
                applier.follow(part)
        for applier in self._live:
            # the rest of what came for held aggregates, as the next batch may be far away
            while applier.released and not self._ending.is_set():
                applier.follow(NOTHING)

    def _explain(self, error: BaseException) -> BaseException:
        if not isinstance(error, DBAPIError):
            return query_failed(error, self._ground.scratch, self._ground.log, recoverable=False)
        explained = _unreachable(error)
        explained.__cause__ = error
        return explained


def require_still_stopped(
    applier: Applier, passed_over: SkippedRanges, known: SkippedRanges
) -> None:
    """Return unless people have skipped the record at which a projection stopped."""
    failure = applier.failure
    if not isinstance(failure, ProjectionStoppedError) or known.holds(*failure.place):
        return
    if passed_over.holds(*failure.place):
        place = ":".join(map(str, failure.place))
        raise SkippedSinceError(f"{place}, which stopped {applier.projection.name}, is skipped")


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        raise _unreachable(error) from error


def _unreachable(error: DBAPIError) -> UnreachableError:
    return UnreachableError(f"the database of the read side failed: {one_line_error(error.orig)}")

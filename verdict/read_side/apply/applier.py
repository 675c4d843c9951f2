"""Applies batches to one projection: one transaction each, exactly once or not at all."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Protocol

from sqlalchemy import Connection
from sqlalchemy.exc import InterfaceError, InternalError, OperationalError

from verdict.adapters.sql.sqlite_file import DatabaseFileChangedError, is_damaged
from verdict.adapters.sql.time_text import wall_clock
from verdict.read_side.apply.batch import Delivery, ProjectionBatch
from verdict.read_side.apply.one_by_one import Apply, apply_one_by_one, refuses_values
from verdict.read_side.apply.overrides import MissingEvents, Overridden, Overrides
from verdict.read_side.projections.projection import (
    Applied,
    CannotApplyError,
    Projection,
    ProjectionStoppedError,
    readable,
)
from verdict.read_side.projections.row_projection import without_feed
from verdict.read_side.tables import blocked, position, skips, versions
from verdict.read_side.tables.position import ConcurrentProjectionError
from verdict.read_side.tables.versions import SettingsChangedError, SupersededError
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.topics import Topics

log = logging.getLogger(__name__)

DATABASE_FAILED = (OperationalError, InterfaceError, InternalError)
CONTESTED_S = 60.0  # by then a server has given up a connection that was lost


class Transactions(Protocol):
    """Where an applier writes: an `Engine`, or a part of its caller's transaction."""

    def begin(self) -> AbstractContextManager[Connection]: ...
    def connect(self) -> AbstractContextManager[Connection]: ...


class RecordsMissingError(ProjectionStoppedError):
    """A batch starts after the position, so records between them would be lost."""

    def __init__(self, projection: Projection, place: TopicPartition, next_offset: int, start: int):
        name, at = projection.name, f"{place}:{next_offset}"
        super().__init__(
            f"projection {name} v{projection.version} needs {place} from "
            f"offset {next_offset} and was given it from {start}: Kafka no longer has what is "
            f"between, or it was not read; what is archived of it comes back with `verdict "
            f"projection rebuild {name}`, what is nowhere is skipped with `verdict skip {at} "
            "--reason …`",
            (*place, next_offset),
        )


class Applier:
    """Applies batches to one projection, as the only one that does so, or stops it.

    - If an event cannot be applied, or the database cannot store the result, its aggregate is
      blocked from there on (`projection_blocked`); the others continue.
    - Any other failure stops the projection (`projection_stopped`): this applier applies no more.
    - The next applier tries both again, since the code may have been fixed. Only a key of a state
      topic whose newest state is unreadable stays blocked, until a newer state comes.
    - A projection whose tables were filled under other settings or columns is stopped at once.

    Without `live` readers do not see this version: it appends nothing to feeds and to
    `projection_stopped`. `missing` fetches events that blocked aggregates wait for.
    """

    def __init__(
        self,
        engine: Transactions,
        projection: Projection,
        topics: Topics,
        clock: Callable[[], int] = wall_clock,
        live: bool = True,
        missing: MissingEvents = lambda *_: (),
    ) -> None:
        self.projection = projection if live else without_feed(projection)
        self.topics = projection.topics(topics)
        self._states = frozenset(topics.states)
        self._engine = engine
        self._clock = clock
        self._live = live
        self.released = False  # whether the last batch brought missing events: there may be more
        self.failure: Exception | None = None  # why it is stopped
        self._contested_until = 0.0
        with engine.connect() as connection:
            self.positions = position.load(connection, projection)  # the next offsets
            self._was_stopped = versions.of(connection, projection).error is not None
            held = blocked.load(connection, projection)
            changed = versions.change_of(connection, projection)
        tries_again = projection.waits_for_events and any(one.error for one in held.values())
        fetch = partial(missing, topics.application)
        self._overrides = Overrides(self.projection, live, fetch, held, tries_again)
        if changed is not None:
            self._stop(changed)

    @property
    def is_stopped(self) -> bool:
        """Whether the projection failed under this applier."""
        return self.failure is not None

    @property
    def waits(self) -> bool:
        """Whether an aggregate is blocked until an event comes, which may have come by now."""
        return self._overrides.may_continue

    def apply(self, batch: ProjectionBatch) -> Applied:
        """Apply the records of `batch` after the position, and advance it; all or nothing.

        Missing events of blocked aggregates that have come are applied too, even with an empty
        batch; if they are many, not all of them: see `released`.

        Raises:
            ConcurrentProjectionError: Another process moved the position.
            SupersededError: Readers see another version by now.
            DatabaseFileChangedError, OperationalError, InterfaceError, InternalError: The database
                failed; the next applier finds out whether the batch was committed.
        """
        self.released = False
        if self.is_stopped:
            return Applied()
        try:
            return self._apply(batch)
        except (ConcurrentProjectionError, SupersededError, DatabaseFileChangedError):
            raise
        except Exception as error:  # whatever it was, the other projections continue
            if database_failed(error):
                raise
            self._stop(error)
            return Applied()

    def follow(self, batch: ProjectionBatch) -> Applied:
        """Apply `batch` as `apply` does, but continue from a position that moved.

        It may have been our own commit, whose answer was lost. If it happens again soon, another
        process runs the projection, which is stopped here.
        """
        try:
            return self.apply(batch)
        except ConcurrentProjectionError as error:
            contested = error
        soon = time.monotonic() < self._contested_until
        self._contested_until = time.monotonic() + CONTESTED_S
        if soon:
            self._stop(contested)
            return Applied()
        log.warning("%s; going on from there", contested)
        with self._engine.connect() as connection:
            self.positions = position.load(connection, self.projection)
            self._overrides.held = blocked.load(connection, self.projection)
        return self.follow(batch)

    def _apply(self, batch: ProjectionBatch) -> Applied:
        try:
            return self._commit(batch, self.projection.apply)
        except Exception as error:
            if not (refuses_values(error) and self.projection.waits_for_events):
                raise
        return self._commit(batch, partial(apply_one_by_one, self.projection))

    def _commit(self, batch: ProjectionBatch, apply: Apply) -> Applied:
        spans, known = batch.spans(self.topics), self.positions
        ends = {place: span.end for place, span in spans.items() if span.end > known.get(place, 0)}
        if not (ends or self._was_stopped or self._overrides.may_continue):
            return Applied()
        with self._engine.begin() as connection:
            # first, as its locks keep other runners out up to the commit
            reached = position.advance(connection, self.projection, self.positions, ends)
            # it may be noted as stopped by an earlier applier, or by one of another process
            noted_as_stopped = self._live and versions.check_live(connection, self.projection)
            self._check_complete(connection, spans, ends)
            new = self._new(batch, spans)
            if self._overrides.are_needed:
                result = self._overrides.apply(connection, apply, new)
            else:
                result = Overridden(apply(connection, [*readable(new)]), {}, False)
            held = blocked.record(
                connection, self.projection, result.applied, self._clock(), result.held,
                seen=self._live,
            )  # fmt: skip
            if noted_as_stopped:
                versions.go_on(connection, self.projection)
        self.positions, self.released, self._was_stopped = reached, result.released, False
        self._overrides.held, self._overrides.tries_again = held, False
        return result.applied

    def _check_complete(
        self,
        connection: Connection,
        spans: Mapping[TopicPartition, OffsetRange],
        ends: Mapping[TopicPartition, int],
    ) -> None:
        for place in ends:
            next_offset = self.positions.get(place, 0)
            between = OffsetRange(next_offset, spans[place].start)
            expired = place.topic in self._states and place not in self.positions
            if between.end <= next_offset or expired:
                continue  # its owners decide how long a state topic keeps unread states
            lacking = skips.passed_over(connection).reached(place, between)
            if lacking < between.end:
                raise RecordsMissingError(self.projection, place, lacking, between.end)

    def _new(
        self, batch: ProjectionBatch, spans: Mapping[TopicPartition, OffsetRange]
    ) -> Iterable[Delivery]:
        deliveries, known = batch.deliveries(self.topics), self.positions
        if all(span.start >= known.get(place, 0) for place, span in spans.items()):
            return deliveries
        return (one for one in deliveries if one.offset >= known.get(TopicPartition.of(one), 0))

    def _stop(self, error: Exception) -> None:
        self.failure = error
        if not self._live:
            return  # readers do not see this version; its caller reports the failure
        what = f"projection {self.projection.name} v{self.projection.version} stopped: {error}"
        if isinstance(error, CannotApplyError):
            topic, partition, offset = error.place
            what += f"; `verdict skip {topic}:{partition}:{offset} --reason …` skips it"
        expected = isinstance(error, ProjectionStoppedError | SettingsChangedError)
        is_explained = expected and error.__cause__ is None
        log.error("%s", what, exc_info=None if is_explained else error)
        with self._engine.begin() as connection:
            versions.stop(connection, self.projection, error, self._clock())


def database_failed(error: Exception) -> bool:
    """Tell whether the database failed, rather than refused the values."""
    if is_damaged(getattr(error, "orig", None)):
        return True
    return isinstance(error, DATABASE_FAILED) and not refuses_values(error)

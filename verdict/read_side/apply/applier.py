"""Batches onto one projection: one transaction each, applied exactly once or not at all."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import InterfaceError, InternalError, OperationalError

from verdict.adapters.sql.sqlite_file import DatabaseFileChangedError, is_damaged
from verdict.adapters.sql.time_text import wall_clock
from verdict.read_side.apply.batch import Delivery, ProjectionBatch
from verdict.read_side.apply.bisect import Apply, apply_one_by_one, refuses_values
from verdict.read_side.apply.overrides import amended
from verdict.read_side.apply.unreadable import sound, with_damaged
from verdict.read_side.projections.builder import readable
from verdict.read_side.projections.projection import (
    Applied,
    CannotApplyError,
    Projection,
    ProjectionStoppedError,
)
from verdict.read_side.projections.row_projection import without_feed
from verdict.read_side.tables import blocked, interventions, position, skips, versions
from verdict.read_side.tables.blocked import Held, Missing, nothing_missing
from verdict.read_side.tables.interventions import Amendments
from verdict.read_side.tables.position import ConcurrentProjectionError
from verdict.read_side.tables.versions import SettingsChangedError, SupersededError
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.topics import Topics

log = logging.getLogger(__name__)

DATABASE_FAILED = (OperationalError, InterfaceError, InternalError)
CONTESTED_S = 60.0  # by then a server has given up whom it lost


class RecordsMissingError(ProjectionStoppedError):
    """A batch begins behind the position, so records in between would be passed over."""

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
    """Brings one projection forward; the only one that does so, or it stops.

    An aggregate at one of whose events the projection fails, or of which the database cannot keep
    what comes of it, waits from there on, with the error in `projection_blocked`, and the others go
    on. A projection that fails otherwise is stopped: this applier leaves it as it is from then on,
    and the error is in `projection_stopped`. The next applier tries both again, since the code may
    have been mended, and success takes the error away. Only a key whose newest state is at fault
    waits on, with the error, for a newer one: nothing would bring that state again. Meanwhile
    people may have an aggregate tried again, or an event replaced or passed over. A projection
    whose tables were filled under other settings than it has now is stopped from the start.

    Args:
        engine: Where the tables are; `creation.create` has made them.
        projection: Whose batches are applied.
        topics: Of the deployment.
        clock: Epoch milliseconds, for what people want to know of gaps and failures.
        live: Whether readers see this version; one that they do not see is brought forward
            without a word in the feeds that they follow, and in `projection_stopped`.
        missing: Fetches events that held aggregates wait for; asked once a batch as long as
            something is held.
    """

    def __init__(
        self,
        engine: Engine,
        projection: Projection,
        topics: Topics,
        clock: Callable[[], int] = wall_clock,
        live: bool = True,
        missing: Missing = nothing_missing,
    ) -> None:
        self.projection = projection if live else without_feed(projection)
        self.topics = projection.topics(topics)
        self._states = frozenset(topics.states)
        self._engine = engine
        self._clock = clock
        self._live = live
        self._missing = partial(missing, topics.application)
        self._released = False
        self._failure: Exception | None = None
        self._contested_until = 0.0
        with engine.connect() as connection:
            self._positions = position.load(connection, projection)
            known = versions.of(connection, projection)
            self._held = blocked.load(connection, projection)
        self._tries_again = projection.waits_for_events and any(
            hold.error for hold in self._held.values()
        )
        self._was_stopped = known.error is not None
        if known.settings != projection.settings:
            self._stop(SettingsChangedError(projection, known.settings))

    @property
    def positions(self) -> Mapping[TopicPartition, int]:
        """Return the next offset of each partition, as loaded and advanced by this applier."""
        return self._positions

    @property
    def is_stopped(self) -> bool:
        """Whether the projection failed under this applier, which leaves it alone since."""
        return self._failure is not None

    @property
    def released(self) -> bool:
        """Whether held aggregates got events with the last batch; more of them may have come."""
        return self._released

    @property
    def failure(self) -> Exception | None:
        """Why it is stopped."""
        return self._failure

    def apply(self, batch: ProjectionBatch) -> Applied:
        """Apply what of `batch` lies beyond the position; all of it and the position, or nothing.

        With it go missing events of held aggregates that have come by now, which any batch can
        bring, an empty one too; not all of them when they are many: see `released`.

        Raises:
            ConcurrentProjectionError: Somebody else moved the position.
            SupersededError: Readers were given another version to see.
            DatabaseFileChangedError: The database's file was removed or replaced.
            OperationalError, InterfaceError, InternalError: The database failed; whether the
                batch was committed is for the next applier to find out.
        """
        spans = batch.spans(self.topics)
        ends = {
            place: span.end
            for place, span in spans.items()
            if span.end > self._positions.get(place, 0)
        }
        self._released = False
        if self.is_stopped or not (ends or self._waits or self._was_stopped):
            return Applied()
        try:
            return self._apply_all_that_can_be(batch, spans, ends)
        except (ConcurrentProjectionError, SupersededError, DatabaseFileChangedError):
            raise
        except Exception as error:  # whatever it was, the other projections go on
            if database_failed(error):
                raise
            self._stop(error)
            return Applied()

    def follow(self, batch: ProjectionBatch) -> Applied:
        """Apply `batch` as `apply` does; who finds another runner goes on from where that is.

        It may have been a commit of our own whose answer was lost. When it happens again soon,
        somebody else does run, and this projection is stopped here; others go on.
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
            self._positions = position.load(connection, self.projection)
            self._held = blocked.load(connection, self.projection)
        return self.follow(batch)

    def _apply_all_that_can_be(
        self,
        batch: ProjectionBatch,
        spans: Mapping[TopicPartition, OffsetRange],
        ends: Mapping[TopicPartition, int],
    ) -> Applied:
        try:
            return self._apply(batch, spans, ends, self.projection.apply)
        except Exception as error:
            if not (refuses_values(error) and self.projection.waits_for_events):
                raise
        return self._apply(batch, spans, ends, apply_one_by_one(self.projection))

    def _apply(
        self,
        batch: ProjectionBatch,
        spans: Mapping[TopicPartition, OffsetRange],
        ends: Mapping[TopicPartition, int],
        apply: Apply,
    ) -> Applied:
        with self._engine.begin() as connection:
            # before anything is read, as its locks keep other runners out up to the commit
            reached = position.advance(connection, self.projection, self._positions, ends)
            # by this one before, or by another runner, which has stopped there and not here
            noted_as_stopped = self._live and versions.check_live(connection, self.projection)
            self._check_complete(connection, spans, ends)
            held = self._still_held(connection)
            waits = any(hold.error is None for hold in held.values())
            decided = self._decided(connection)
            missing = self._missing(connection, self.projection) if waits else ()
            missing = [*amended(missing, decided)]
            new = amended(self._new(batch, spans), decided)
            applied = apply(connection, [*readable([*sound(missing), *new])])
            applied = with_damaged(applied, held, missing)
            held = blocked.record(
                connection, self.projection, applied, self._clock(), held, seen=self._live
            )
            if noted_as_stopped:
                versions.go_on(connection, self.projection)
        self._positions, self._held = reached, held
        self._was_stopped = self._tries_again = False
        self._released = bool(missing)
        return applied

    def _still_held(self, connection: Connection) -> Held:
        """Return what is held now: people may have had an aggregate tried again meanwhile."""
        if not self._held:
            return self._held  # only an applier begins to hold one
        held = blocked.load(connection, self.projection)
        if self._tries_again:
            held = blocked.try_again(connection, self.projection, held)
        return held

    def _decided(self, connection: Connection) -> Amendments:
        """Return what people decided about events that may be applied now.

        They decide about what the live version holds; so it meets such an event again only as one
        that it holds, while another version may meet it in any batch.
        """
        if self._live and not self._held:
            return {}
        return interventions.in_force(connection, self.projection.name)

    @property
    def _waits(self) -> bool:
        """Whether an event that an aggregate waits for may have come."""
        return self._tries_again or any(hold.error is None for hold in self._held.values())

    def _check_complete(
        self,
        connection: Connection,
        spans: Mapping[TopicPartition, OffsetRange],
        ends: Mapping[TopicPartition, int],
    ) -> None:
        for place in ends:
            next_offset = self._positions.get(place, 0)
            between = OffsetRange(next_offset, spans[place].start)
            expired = place.topic in self._states and place not in self._positions
            if between.end <= next_offset or expired:
                continue  # others decide how long states are kept that nobody has read yet
            lacking = skips.passed_over(connection).reached(place, between)
            if lacking < between.end:
                raise RecordsMissingError(self.projection, place, lacking, between.end)

    def _new(
        self, batch: ProjectionBatch, spans: Mapping[TopicPartition, OffsetRange]
    ) -> Iterable[Delivery]:
        deliveries = batch.deliveries(self.topics)
        if all(span.start >= self._positions.get(place, 0) for place, span in spans.items()):
            return deliveries
        return (
            delivery
            for delivery in deliveries
            if delivery.offset >= self._positions.get(TopicPartition(*delivery[:2]), 0)
        )

    def _stop(self, error: Exception) -> None:
        self._failure = error
        if not self._live:
            return  # it is for whoever brings it forward to say; readers do not miss it
        name, version = self.projection.name, self.projection.version
        what = f"projection {name} v{version} stopped: {error}"
        if isinstance(error, CannotApplyError):
            topic, partition, offset = error.place
            what += f"; `verdict skip {topic}:{partition}:{offset} --reason …` skips it"
        told = (
            isinstance(error, ProjectionStoppedError | SettingsChangedError)
            and error.__cause__ is None
        )
        log.error("%s", what, exc_info=None if told else error)
        with self._engine.begin() as connection:
            versions.stop(connection, self.projection, error, self._clock())


def database_failed(error: Exception) -> bool:
    """Tell whether it is the database that failed, and not what was to be written."""
    if is_damaged(getattr(error, "orig", None)):
        return True
    return isinstance(error, DATABASE_FAILED) and not refuses_values(error)

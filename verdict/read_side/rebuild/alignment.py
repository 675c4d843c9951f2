"""Two versions at the same position: the other one is brought to where the live one stands.

A live version that is stopped does not move: the other one, which may be ahead of it, stays there.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection, Engine

from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import NOTHING, ProjectionBatch, batches
from verdict.read_side.apply.missing_events import missing_events
from verdict.read_side.live.stream import Decoder
from verdict.read_side.rebuild.errors import (
    BuildStoppedError,
    DifferentSettingsError,
    NotAlignedError,
    NotBuiltError,
    NotComparableError,
)
from verdict.read_side.rebuild.version_pair import VersionPair
from verdict.read_side.schema.database import snapshot
from verdict.read_side.tables import position, versions
from verdict.read_side.tables.position import Positions
from verdict.read_side.tables.states import VersionState
from verdict.read_side.tables.versions import SettingsChangedError
from verdict.streaming.event_log.event_log import EventLog
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.topics import Topics

PATIENCE_S = 30.0  # for a live version that is behind
PAUSE_S = 0.1


@dataclass(frozen=True, slots=True)
class AlignedVersions:
    """Brings the version beside the live one to the same position, by what lies in between.

    Args:
        engine: Of the read side.
        log: Of events, archived or in Kafka, and of what else lies on topics.
        topics: Of the deployment.
        beside: The two versions.
    """

    engine: Engine
    log: EventLog
    topics: Topics
    beside: VersionPair

    @contextmanager
    def reached(self) -> Iterator[Connection]:
        """Give a snapshot in which both stand at the same position.

        The live one goes on meanwhile; so the snapshot is taken when the other has come to where
        it was, and taken again when it moved on in between.

        Raises:
            NotBuiltError: Somebody builds the other one anew.
            BuildStoppedError: The other one cannot be brought there.
            EventsMissingError: Kafka has dropped what it needs, and the archive has not got it.
            NotAlignedError: The live one is behind it, and does not move.
            NotComparableError: The live one is behind it, and stopped.
        """
        while True:
            self.follow()
            with snapshot(self.engine) as connection:
                if self.is_level(connection):
                    yield connection
                    return
                if self._is_ahead_of_stopped(connection):
                    live, other = self.beside.live, self.beside.other
                    raise NotComparableError(live.name, live.version, other.version)

    def follow(self) -> None:
        """Bring the other version to where the live one stands now, unless it is ahead."""
        applier = Applier(
            self.engine, self.beside.other, self.topics, live=False, missing=missing_events
        )
        with snapshot(self.engine) as connection:  # behind its position, which excludes others
            self.check_whole(connection)
        ends = self._live_positions(applier.positions)
        for batch in self._between(applier.positions, ends):
            apply(applier, batch)
        while applier.released:
            apply(applier, NOTHING)

    def check_whole(self, connection: Connection) -> None:
        """Return when nobody builds the other version, as `connection` sees it.

        Raises:
            NotBuiltError: Somebody has begun it anew, on another host.
        """
        if versions.of(connection, self.beside.other).state == VersionState.INCOMPLETE:
            raise NotBuiltError(self.beside.live.name, self.beside.live.version)

    def is_level(self, connection: Connection) -> bool:
        """Return whether both stand at the same position, as `connection` sees it."""
        live = position.load(connection, self.beside.live)
        return live == position.load(connection, self.beside.other)

    def may_replace(self, connection: Connection) -> bool:
        """Return whether readers miss nothing with the other one, as `connection` sees it."""
        return self.is_level(connection) or self._is_ahead_of_stopped(connection)

    def _is_ahead_of_stopped(self, connection: Connection) -> bool:
        live = position.load(connection, self.beside.live)
        other = position.load(connection, self.beside.other)
        ahead = other != live and all(other.get(place, 0) >= at for place, at in live.items())
        return ahead and self._is_stopped(connection)

    def _is_stopped(self, connection: Connection) -> bool:
        return versions.of(connection, self.beside.live).error is not None

    def _live_positions(self, reached: Mapping[TopicPartition, int]) -> Positions:
        """Return where the live version stands, once that moves no more or is not behind."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            with snapshot(self.engine) as connection:
                live = position.load(connection, self.beside.live)
                moves = not self._is_stopped(connection)
            behind = sum(max(0, at - live.get(place, 0)) for place, at in reached.items())
            if not (behind and moves):
                return live
            if time.monotonic() > deadline:
                raise NotAlignedError(self.beside.live.name, behind)
            time.sleep(PAUSE_S)

    def _between(
        self, starts: Mapping[TopicPartition, int], ends: Positions
    ) -> Iterator[ProjectionBatch]:
        spans = {
            place: OffsetRange(start := starts.get(place, 0), max(start, end))
            for place, end in ends.items()
        }
        decoder = Decoder(self.topics)
        upto = {place: span.end for place, span in spans.items()}
        records = (decoder.delivery(*record) for record in self.log.read(starts, upto))
        return batches(records, spans)


def apply(applier: Applier, batch: ProjectionBatch) -> None:
    """Apply a batch to a version that must not stop.

    Raises:
        BuildStoppedError: The projection failed.
        DifferentSettingsError: It was built with other settings.
    """
    applier.apply(batch)
    failure, projection = applier.failure, applier.projection
    if isinstance(failure, SettingsChangedError):
        raise DifferentSettingsError(projection, failure.found) from failure
    if failure is not None:
        raise BuildStoppedError(projection, str(failure)) from failure

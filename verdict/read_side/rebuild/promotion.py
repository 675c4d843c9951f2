"""Compares a version with the live one at the same position, and makes it the live one."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from verdict.adapters.sql.sqlite_file import one_line_error
from verdict.adapters.sql.statements import wait_for_locks
from verdict.adapters.sql.time_text import wall_clock
from verdict.errors import VerdictError
from verdict.read_side.apply.applier import Applier, Transactions
from verdict.read_side.apply.missing_events import missing_events
from verdict.read_side.projections.projection import Projection
from verdict.read_side.rebuild.comparison import Compared, compare
from verdict.read_side.rebuild.errors import (
    NotAlignedError,
    NotBuiltError,
    NotComparableError,
    ViewsInUseError,
    ViewsReadError,
)
from verdict.read_side.rebuild.log_replay import Savepoints, check_applied, decoded, replay
from verdict.read_side.rebuild.version_pair import BuildStep, OnStep, VersionPair
from verdict.read_side.schema import creation
from verdict.read_side.schema.database import snapshot
from verdict.read_side.tables import position, versions
from verdict.read_side.tables.row_states import VersionState
from verdict.read_side.tables.versions import SupersededError
from verdict.settings.database_address import Roles
from verdict.streaming.event_log.event_log import EventLog
from verdict.wire.partitions import PartitionOffsets, TopicPartition
from verdict.wire.topics import Topics

LIVE_PATIENCE_S = 30.0  # for a live version that is behind the other one
PAUSE_S = 0.1
DEPENDENT_OBJECTS = "2BP01"  # SQLSTATE: something depends on what is to be dropped
READERS_HAVE_THEM = {"55P03", "40P01"}  # a lock not available in time; a deadlock
PATIENCE_S = 5  # for readers
# New readers and the service wait as long. It is shorter than PostgreSQL's deadlock_timeout of a
# second: so PostgreSQL never ends a reader that waits for one view and locks another.
LOCK_S = 0.5


@dataclass(frozen=True, slots=True)
class ComparedVersions:
    """The result of a comparison at one position."""

    projection: str
    live: int
    built: int
    tables: Sequence[Compared]

    @property
    def equal(self) -> bool:
        """Whether all tables have the same content."""
        return all(table.equal for table in self.tables)


@dataclass(frozen=True, slots=True)
class AlignedVersions:
    """Brings a version to the position of the live one, with the records between them.

    A stopped live version does not advance. The other one can be ahead of it then, and stays there.
    """

    engine: Engine
    log: EventLog
    topics: Topics
    pair: VersionPair

    def follow(self) -> None:
        """Bring the other version to the present position of the live one, unless it is ahead."""
        applier = self._applier(self.engine)
        with snapshot(self.engine) as connection:  # after its position, which excludes others
            self._require_whole(connection)
        self._replay(applier, self._await_live(applier.positions))

    def follow_locked(self, connection: Connection) -> None:
        """Bring the other version to the live one, which cannot advance before the commit."""
        live, other = self.pair.live, self.pair.other
        position.exclude_others(connection, live)
        versions.check_live(connection, live)
        position.exclude_others(connection, other)
        self._require_whole(connection)
        reached = position.load(connection, live)
        self._replay(self._applier(Savepoints(connection)), reached)
        if not (self._is_level(connection) or self._is_ahead_of_stopped(connection)):
            raise NotAlignedError(live.name, _behind(reached, position.load(connection, other)))

    @contextmanager
    def reached(self) -> Iterator[Connection]:
        """Give a snapshot in which both are at one position; the live one advances meanwhile."""
        while True:
            self.follow()
            with snapshot(self.engine) as connection:
                if self._is_level(connection):
                    yield connection
                    return
                if self._is_ahead_of_stopped(connection):
                    live, other = self.pair.live, self.pair.other
                    raise NotComparableError(live.name, live.version, other.version)

    def _applier(self, transactions: Transactions) -> Applier:
        return Applier(
            transactions, self.pair.other, self.topics, live=False, missing=missing_events
        )

    def _replay(self, applier: Applier, ends: PartitionOffsets) -> None:
        starts = {place: applier.positions.get(place, 0) for place in ends}
        ahead = {place: max(starts[place], end) for place, end in ends.items()}
        replay(applier, decoded(self.log.read(starts, ahead), self.topics), ends)
        check_applied(applier)

    def _require_whole(self, connection: Connection) -> None:
        if versions.of(connection, self.pair.other).state == VersionState.INCOMPLETE:
            raise NotBuiltError(self.pair.live.name, self.pair.live.version)

    def _is_level(self, connection: Connection) -> bool:
        live = position.load(connection, self.pair.live)
        return live == position.load(connection, self.pair.other)

    def _is_ahead_of_stopped(self, connection: Connection) -> bool:
        live = position.load(connection, self.pair.live)
        other = position.load(connection, self.pair.other)
        ahead = other != live and all(other.get(place, 0) >= at for place, at in live.items())
        return ahead and versions.of(connection, self.pair.live).error is not None

    def _await_live(self, reached: Mapping[TopicPartition, int]) -> PartitionOffsets:
        deadline = time.monotonic() + LIVE_PATIENCE_S
        while True:
            with snapshot(self.engine) as connection:
                live = position.load(connection, self.pair.live)
                is_stopped = versions.of(connection, self.pair.live).error is not None
            behind = _behind(live, reached)
            if not behind or is_stopped:
                return live
            if time.monotonic() > deadline:
                raise NotAlignedError(self.pair.live.name, behind)
            time.sleep(PAUSE_S)


def compare_versions(aligned: AlignedVersions) -> ComparedVersions:
    """Compare the two versions at the same position; raises as `AlignedVersions.reached`."""
    live, other = aligned.pair.live, aligned.pair.other
    with aligned.reached() as connection:
        pairs = zip(live.tables, other.tables, strict=True)
        tables = [compare(connection, *pair) for pair in pairs]
    return ComparedVersions(live.name, live.version, other.version, tables)


def promote(aligned: AlignedVersions, roles: Roles, on_step: OnStep) -> None:
    """Let readers see the other version, from one commit to the next.

    The same transaction keeps a running service from advancing the live version, and brings the
    other one to its position. The service then continues with the version that it finds. The
    version that readers saw is kept, and the one before that is dropped.
    """
    aligned.follow()  # most of the way, while the live one advances
    on_step(BuildStep.LEVEL)
    deadline = time.monotonic() + PATIENCE_S
    while not _promoted(aligned, roles, on_step, deadline):
        pass  # the views are being read
    on_step(BuildStep.SWAPPED)


def _promoted(aligned: AlignedVersions, roles: Roles, on_step: OnStep, deadline: float) -> bool:
    try:
        with _translate_errors(aligned.pair.live), aligned.engine.begin() as connection:
            aligned.follow_locked(connection)
            _switch(aligned.pair, roles, connection)
            on_step(BuildStep.SWITCHED)
    except ViewsReadError:
        if time.monotonic() > deadline:
            raise
        return False
    return True


def _switch(pair: VersionPair, roles: Roles, connection: Connection) -> None:
    known = versions.every(connection, pair.live.name)
    wait_for_locks(connection, LOCK_S)
    creation.show(connection, pair.other, roles)
    if pair.other.feed is not None:
        pair.other.feed.announce(connection, pair.live.feed, wall_clock())
    for number, one in known.items():
        if one.state == VersionState.PREVIOUS and number != pair.other.version:
            creation.drop(connection, pair.at_version(number))


def _behind(live: PartitionOffsets, other: Mapping[TopicPartition, int]) -> int:
    return sum(max(0, at - live.get(place, 0)) for place, at in other.items())


@contextmanager
def _translate_errors(projection: Projection) -> Iterator[None]:
    try:
        yield
    except SupersededError as error:
        raise VerdictError(f"{error}; see `verdict projection list`") from error
    except DBAPIError as error:
        state = getattr(error.orig, "sqlstate", None)
        if state == DEPENDENT_OBJECTS:
            raise ViewsInUseError(projection.name, one_line_error(error.orig)) from error
        if state in READERS_HAVE_THEM:
            raise ViewsReadError(projection.name, PATIENCE_S) from error
        raise

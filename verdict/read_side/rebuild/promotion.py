"""Compares a version with the one that readers see, and gives readers another one to see."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from verdict.adapters.sql.sqlite_file import one_line_error
from verdict.adapters.sql.statements import wait_for_locks
from verdict.adapters.sql.time_text import wall_clock
from verdict.errors import VerdictError
from verdict.read_side.projections.projection import Projection
from verdict.read_side.rebuild.alignment import AlignedVersions
from verdict.read_side.rebuild.comparison import Compared, compare
from verdict.read_side.rebuild.errors import ViewsInUseError, ViewsReadError
from verdict.read_side.rebuild.steps import BuildStep, OnStep
from verdict.read_side.schema import creation
from verdict.read_side.tables import position, versions
from verdict.read_side.tables.position import ConcurrentProjectionError
from verdict.read_side.tables.states import VersionState
from verdict.read_side.tables.versions import SupersededError
from verdict.settings.database_address import Roles

DEPENDENT_OBJECTS = "2BP01"  # SQLSTATE: something stands on what is to be dropped
READERS_HAVE_THEM = {"55P03", "40P01"}  # a lock not available in time; a deadlock
PATIENCE_S = 5  # for readers
# Those who come then wait as long, and so does the service. Before PostgreSQL's deadlock_timeout of
# a second, so that it never ends a reader who waits for one view and keeps us from another.
LOCK_S = 0.5


@dataclass(frozen=True, slots=True)
class ComparedVersions:
    """What a comparison at one position found."""

    projection: str
    live: int
    built: int
    tables: Sequence[Compared]

    @property
    def equal(self) -> bool:
        """Whether all tables hold the same."""
        return all(table.equal for table in self.tables)


def compare_versions(level: AlignedVersions) -> ComparedVersions:
    """Compare the two versions at the same position, while the live one goes on.

    Raises:
        NotBuiltError: Somebody else builds it anew.
        BuildStoppedError: The built version cannot be brought to the live one's position.
        NotAlignedError: The live version is behind, and does not move.
        NotComparableError: It is behind, and stopped.
    """
    live, other = level.beside.live, level.beside.other
    with level.reached() as connection:
        pairs = zip(live.tables, other.tables, strict=True)
        tables = [compare(connection, *pair) for pair in pairs]
    return ComparedVersions(live.name, live.version, other.version, tables)


def promote(level: AlignedVersions, roles: Roles, on_step: OnStep) -> None:
    """Let readers see the other version, from one commit to the next.

    It stands at the position of the live one then, which a running service cannot move meanwhile;
    the service goes on with the version that it finds. It may be ahead of a live one that is
    stopped. The version that readers saw is kept, and the one before that is dropped.

    Raises:
        ViewsInUseError: A view of somebody else's stands on one that is to show the other version.
        ViewsReadError: Somebody reads from one, and does not come to an end.
        VerdictError: Somebody else has promoted a version of the projection meanwhile.
        NotBuiltError: Somebody else builds the other version anew.
        BuildStoppedError: The other version cannot be brought to the live one's position.
        NotAlignedError: The live version is behind, and does not move.
    """
    deadline = time.monotonic() + PATIENCE_S
    level.follow()
    on_step(BuildStep.LEVEL)
    while not _switched(level, roles, on_step, deadline):
        level.follow()  # the live one moved on before it could be stopped
        on_step(BuildStep.LEVEL)
    on_step(BuildStep.SWAPPED)


def _switched(level: AlignedVersions, roles: Roles, on_step: OnStep, deadline: float) -> bool:
    """Let readers see the other version; tell whether that could be, or is to be tried again."""
    try:
        with _in_words(level.beside.live), level.engine.begin() as connection:
            fits = _stopped(level, connection)
            if fits:
                _switch(level, roles, connection)
                on_step(BuildStep.SWITCHED)
            return fits
    except ConcurrentProjectionError:
        return False
    except ViewsReadError:
        if time.monotonic() > deadline:
            raise
        return False


def _stopped(level: AlignedVersions, connection: Connection) -> bool:
    """Lock the live version's position to the end of the transaction; return whether it fits.

    Raises:
        SupersededError: It is not live any more.
        NotBuiltError: The other one is being built anew.
    """
    live = level.beside.live
    position.advance(connection, live, position.load(connection, live), {})
    versions.check_live(connection, live)
    position.exclude_others(connection, level.beside.other)
    level.check_whole(connection)
    return level.may_replace(connection)


def _switch(level: AlignedVersions, roles: Roles, connection: Connection) -> None:
    live, other = level.beside.live, level.beside.other
    known = versions.every(connection, live.name)
    wait_for_locks(connection, LOCK_S)
    creation.show(connection, other, roles)
    if other.feed is not None:
        other.feed.announce(connection, live.feed, wall_clock())
    for number, one in known.items():
        if one.state == VersionState.PREVIOUS and number != other.version:
            creation.drop(connection, level.beside.at_version(number))


@contextmanager
def _in_words(projection: Projection) -> Iterator[None]:
    """Say why a promotion is impossible."""
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

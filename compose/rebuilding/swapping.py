"""Compares a version with the one that readers see, and gives readers another one to see."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from compose.rebuilding.errors import ViewsInUse
from compose.rebuilding.level import Level
from compose.sql.database import one_line
from projections.engine import creation, position, versions
from projections.engine.applier import wall_clock
from projections.engine.comparison import Compared, compare
from projections.engine.position import AnotherRunner

DEPENDENT_OBJECTS = "2BP01"  # SQLSTATE: something stands on what is to be dropped


@dataclass(frozen=True, slots=True)
class Verified:
    """What a comparison at one position found."""

    projection: str
    live: int
    built: int
    tables: Sequence[Compared]

    @property
    def equal(self) -> bool:
        """Whether all tables hold the same."""
        return all(table.equal for table in self.tables)


class Step(StrEnum):
    """Where a swap is; tests kill it there."""

    LEVEL = "level"
    SWITCHED = "switched"
    SWAPPED = "swapped"


OnStep = Callable[[Step], None]


def verify(level: Level) -> Verified:
    """Compare the two versions at the same position, while the live one goes on.

    Raises:
        StandsStill: The built version cannot be brought to the live one's position.
        NeverLevel: The live version is behind, and does not move.
    """
    live, other = level.beside.live, level.beside.other
    with level.reached() as connection:
        pairs = zip(live.tables, other.tables, strict=True)
        tables = [compare(connection, *pair) for pair in pairs]
    return Verified(live.name, live.version, other.version, tables)


def swap(level: Level, role: str, on_step: OnStep) -> None:
    """Let readers see the other version, from one commit to the next.

    It stands at the position of the live one then, which a running service cannot move meanwhile;
    the service goes on with the version that it finds. The version that readers saw is kept,
    and the one before that is dropped.

    Args:
        level: Of the two versions.
        role: Of readers, on PostgreSQL.
        on_step: Called at each step.

    Raises:
        ViewsInUse: A view of somebody else's stands on one that is to show the other version.
        StandsStill: The other version cannot be brought to the live one's position.
        NeverLevel: The live version is behind, and does not move.
    """
    while True:
        level.follow()
        on_step(Step.LEVEL)
        try:
            with level.engine.begin() as connection:
                if _stopped_level(level, connection):
                    _switch(level, role, connection)
                    on_step(Step.SWITCHED)
                    break
        except AnotherRunner:
            continue  # the live one moved on before it could be stopped
    on_step(Step.SWAPPED)


def _stopped_level(level: Level, connection: Connection) -> bool:
    """Lock the live version's position to the end of the transaction; return whether it fits."""
    live = level.beside.live
    position.advance(connection, live, position.load(connection, live), {})
    return level.is_level(connection)


def _switch(level: Level, role: str, connection: Connection) -> None:
    live, other = level.beside.live, level.beside.other
    older = versions.previous(connection, live.name)
    try:
        creation.show(connection, other, role)
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) == DEPENDENT_OBJECTS:
            raise ViewsInUse(live.name, one_line(error.orig)) from error
        raise
    other.announce(connection, live, wall_clock())
    versions.switch(connection, other, before=live.version)
    if older is not None and older != other.version:
        creation.drop(connection, level.beside.at_version(older))

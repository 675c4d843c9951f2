"""The versions of one projection in the database: the live one and a second one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection, Engine

from verdict.errors import VerdictError
from verdict.read_side.catalog import AtVersion
from verdict.read_side.projections.projection import Projection
from verdict.read_side.rebuild.errors import NotBuiltError
from verdict.read_side.schema import creation
from verdict.read_side.tables import versions
from verdict.read_side.tables.position import exclude_others
from verdict.read_side.tables.row_states import UNSEEN, VersionState
from verdict.read_side.tables.versions import Version


class BuildStep(StrEnum):
    """A step of a build or promotion that has just been done; tests kill the process at each."""

    BEGUN = "begun"
    WRITTEN = "written"  # some of the rows
    BUILT = "built"
    LEVEL = "level"  # it was at the position of the live one
    SWITCHED = "switched"  # not committed yet
    SWAPPED = "swapped"


OnStep = Callable[[BuildStep], None]


@dataclass(frozen=True, slots=True)
class VersionPair:
    """Two versions of a projection: `live` is seen by readers, `other` is the candidate or the
    previous one. `at_version` declares any of them.
    """

    live: Projection
    other: Projection
    at_version: AtVersion


def create_next(engine: Engine, name: str, at_version: AtVersion) -> VersionPair:
    """Create the empty tables of the next version; drop versions that were built and never live."""
    with engine.begin() as connection:
        live, known = _known(connection, name)
        unseen = {number for number, one in known.items() if one.state in UNSEEN}
        for dropped in map(at_version, unseen):
            exclude_others(connection, dropped)  # another host can be filling it
            creation.drop(connection, dropped)
        other = at_version(max(known.keys() - unseen) + 1)
        creation.create(connection, [other])
        versions.build(connection, other)
    return VersionPair(at_version(live), other, at_version)


def built_version(engine: Engine, name: str, at_version: AtVersion) -> VersionPair:
    """Return the live version and the newest one, which was built after it."""
    with engine.begin() as connection:
        live, known = _known(connection, name)
    newest = max(known)
    if newest <= live or known[newest].state == VersionState.INCOMPLETE:
        raise NotBuiltError(name, live)
    return VersionPair(at_version(live), at_version(newest), at_version)


def previous_version(engine: Engine, name: str, at_version: AtVersion) -> VersionPair:
    """Return the live version and the one that was live before it."""
    with engine.begin() as connection:
        live, known = _known(connection, name)
    kept = next(
        (number for number, one in known.items() if one.state == VersionState.PREVIOUS), None
    )
    if kept is None:
        raise VerdictError(f"projection {name} v{live} has no version before it to go back to")
    if kept > live:
        raise VerdictError(
            f"projection {name} was rolled back from v{kept} to v{live} already, and no earlier "
            f"version is kept: `verdict projection promote {name}` shows v{kept} again"
        )
    return VersionPair(at_version(live), at_version(kept), at_version)


def _known(connection: Connection, name: str) -> tuple[int, Mapping[int, Version]]:
    live = versions.all_live(connection)
    if name not in live:
        raise VerdictError(
            f"the read side has no projection {name!r}: it has {', '.join(sorted(live)) or 'none'}"
            "; start `verdict up` once"
        )
    return live[name], versions.every(connection, name)

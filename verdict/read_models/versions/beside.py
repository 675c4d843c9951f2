"""The versions of one projection in the database: the one that readers see, and those beside it."""

from dataclasses import dataclass

from sqlalchemy import Connection, Engine

from verdict.errors import VerdictError
from verdict.projection import creation, versions
from verdict.projection.built import begin_build, is_torso, versions_of
from verdict.projection.declared import AtVersion
from verdict.projection.position import exclude_others
from verdict.projection.projection import Projection
from verdict.read_models.versions.errors import NotBuilt


@dataclass(frozen=True, slots=True)
class Beside:
    """A projection's versions: `live` is seen, `other` is built beside it or kept of before.

    `at_version` declares any of them.
    """

    live: Projection
    other: Projection
    at_version: AtVersion


def begin_another(engine: Engine, name: str, at_version: AtVersion) -> Beside:
    """Make the empty tables of the next version; what was built and never seen is dropped.

    Args:
        engine: Of the read side.
        name: Of the projection.
        at_version: Declares a version of it.

    Raises:
        VerdictError: The read side does not have this projection.
    """
    with engine.begin() as connection:
        live = _live(connection, name)
        kept = {live, versions.previous(connection, name) or live}
        for dropped in map(at_version, versions_of(connection, name) - kept):
            exclude_others(connection, dropped)  # who fills it on another host
            creation.drop(connection, dropped)
        other = at_version(max(kept) + 1)
        creation.create(connection, [other])
        begin_build(connection, other)
    return Beside(at_version(live), other, at_version)


def built(engine: Engine, name: str, at_version: AtVersion) -> Beside:
    """Return the live version and the newest one, which was built after it.

    Raises:
        NotBuilt: There is none, or its build was interrupted.
    """
    with engine.begin() as connection:
        live = _live(connection, name)
        found = Beside(at_version(live), at_version(max(versions_of(connection, name))), at_version)
        if found.other.version <= live or is_torso(connection, found.other):
            raise NotBuilt(name, live)
    return found


def before(engine: Engine, name: str, at_version: AtVersion) -> Beside:
    """Return the live version and the one that readers saw before it.

    Raises:
        VerdictError: None is kept.
    """
    with engine.begin() as connection:
        live, previous = _live(connection, name), versions.previous(connection, name)
    if previous is None:
        raise VerdictError(f"projection {name} v{live} has no version before it to go back to")
    return Beside(at_version(live), at_version(previous), at_version)


def _live(connection: Connection, name: str) -> int:
    known = versions.live(connection)
    if name not in known:
        raise VerdictError(
            f"the read side has no projection {name!r}: it has {', '.join(sorted(known)) or 'none'}"
            "; start `verdict up` once"
        )
    return known[name]

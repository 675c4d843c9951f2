"""Read your own write: waits until a projection shows what a command did.

A response has the version of its aggregate after the command, and a projection keeps the version of
each aggregate, removed ones included.
"""

import time
from typing import NamedTuple

from verdict.adapters.sql.readers.reader import Reader
from verdict.errors import TimedOutError, VerdictError
from verdict.model.application import Application
from verdict.read_side.catalog import UnknownProjectionError, row_per_aggregate
from verdict.wire.response import Response

PAUSE_S = 0.02
OF_AGGREGATE = "aggregate_type = :type AND aggregate_id = :id"
STOPPED = """\
SELECT error FROM projection_stopped JOIN projection_live USING (projection, version)
WHERE projection = :name"""
BLOCKED = f"""\
SELECT version_needed, error FROM projection_blocked b JOIN projection_live l
ON l.projection = b.projection AND l.version = b.projection_version
WHERE b.projection = :name AND {OF_AGGREGATE}"""


class ReadToken(NamedTuple):
    """What a reader wants to see: an aggregate at this version, or a later one."""

    aggregate_type: str
    aggregate_id: str
    version: int

    @classmethod
    def of(cls, response: Response) -> "ReadToken | None":
        """Return the token of a command's outcome, a rejection or one that changed nothing too.

        Returns:
            None for INVALID_COMMAND and UNKNOWN_TYPE, for which no aggregate was looked at.
        """
        if response.to_version is None:
            return None
        return cls(response.aggregate_type, response.aggregate_id, response.to_version)


class ProjectionUnavailableError(VerdictError):
    """The projection has no rows of the type, or does not show it until an operator acts."""


def require_row_per_aggregate(
    application: Application, projection: str, aggregate_type: str
) -> None:
    """Return if a projection keeps a row for each aggregate of a type."""
    types = row_per_aggregate(application)
    if projection not in types:
        raise UnknownProjectionError(projection, types)
    if aggregate_type not in types[projection]:
        those = [name for name, kinds in types.items() if aggregate_type in kinds]
        raise ProjectionUnavailableError(
            f"{projection} keeps no row for each {aggregate_type}, so there is nothing to wait "
            f"for: {' or '.join(those) or 'no projection'} does"
        )


def wait_for_projection(
    application: Application,
    reader: Reader,
    projection: str,
    token: ReadToken,
    timeout_s: float,
    stale: bool = False,
) -> bool:
    """Return True as soon as `projection` has applied the events of `token`.

    Args:
        application: Whose projection it is.
        reader: Of the read side.
        projection: One that keeps a row per aggregate of that type, such as `us_holder`.
        token: Of the response to a command.
        timeout_s: How long to wait, in seconds.
        stale: Return False when it is not there in time, instead of raising.

    Raises:
        TimedOutError: It is not there in time.
        ProjectionUnavailableError: The projection keeps no row for each aggregate of that type, is
            stopped, or blocks the aggregate for a missing event.
        UnknownProjectionError: There is no such projection.
    """
    require_row_per_aggregate(application, projection, token.aggregate_type)
    deadline = time.monotonic() + timeout_s
    while True:
        reached = _version(reader, projection, token)
        if reached >= token.version:
            return True
        _require_reachable(reader, projection, token)
        if time.monotonic() >= deadline:
            break
        time.sleep(PAUSE_S)
    if stale:
        return False
    raise TimedOutError(
        f"{projection} has {token.aggregate_type} {token.aggregate_id!r} at version {reached} "
        f"after {timeout_s:g} s, and not at {token.version} yet: it was decided, and shows once "
        "the projection has come so far; `verdict status` says how far it is, and what stops it"
    )


def _version(reader: Reader, projection: str, token: ReadToken) -> int:
    of_one = f"SELECT version FROM {projection}_version WHERE {OF_AGGREGATE}"
    found = reader.select(of_one, _names(token)).rows
    return max((int(version) for (version,) in found), default=0)


def _names(token: ReadToken) -> dict[str, str]:
    return {"type": token.aggregate_type, "id": token.aggregate_id}


def _require_reachable(reader: Reader, projection: str, token: ReadToken) -> None:
    stopped = reader.select(STOPPED, {"name": projection}).rows
    for (error,) in stopped:
        raise ProjectionUnavailableError(f"projection {projection} is stopped: {error}")
    held = reader.select(BLOCKED, {"name": projection, **_names(token)}).rows
    for needed, error in held:
        why = f"which cannot be applied: {error}" if error else "which never came"
        raise ProjectionUnavailableError(
            f"projection {projection} blocks {token.aggregate_type} {token.aggregate_id!r}: it "
            f"waits for version {needed}, {why}"
        )

"""Blocked aggregates: they wait for a missing event, or for one that cannot be applied.

A key of a state topic whose newest state cannot be applied waits for a newer one.
"""

import logging
from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Table,
    Text,
    and_,
    bindparam,
    delete,
    select,
    update,
)

from verdict.adapters.sql.bulk import BulkRows
from verdict.adapters.sql.column_types import InstantType
from verdict.adapters.sql.statements import put
from verdict.model.nul import spell_out
from verdict.read_side.projections.projection import Applied, CannotApplyError, Gap, Projection
from verdict.read_side.tables.columns import metadata, optional, primary, required

log = logging.getLogger(__name__)

table = Table(
    "projection_blocked_v1",
    metadata,
    primary("projection", Text, "Name of the projection."),
    primary("projection_version", BigInteger, "Version of the projection's tables."),
    primary("aggregate_type", Text, "Type of the aggregate."),
    primary("aggregate_id", Text, "Id of the aggregate."),
    required("version_needed", BigInteger, "The version of the event that it waits for."),
    required("version_seen", BigInteger, "The greatest version that has come."),
    required("found_at", InstantType, "Since when it waits."),
    optional("error", Text, "Why the event cannot be applied; none if it is missing."),
)

SHOWN_CHARS = 2000
MOST_AT_FAULT = 1_000  # aggregates; with more the projection itself must be wrong

AggregateKey = tuple[str, str]


class BlockedAggregate(NamedTuple):
    """The version that an aggregate needs, and the greatest one that came.

    `found_at` is in epoch milliseconds. With an `error` the needed event cannot be applied.
    """

    version_needed: int
    version_seen: int
    found_at: int
    error: str | None = None


class TooManyBlockedError(Exception):
    """Too many aggregates are blocked: the projection itself must be wrong."""

    def __init__(self, last: CannotApplyError) -> None:
        super().__init__(
            f"more than {MOST_AT_FAULT} aggregates cannot be applied, the last: {last}"
        )


Held = Mapping[AggregateKey, BlockedAggregate]


def address_of(projection_name: str, key: AggregateKey) -> str:
    """Return what `verdict blocked` calls a blocked aggregate."""
    return "/".join((projection_name, *key))


def load(connection: Connection, projection: Projection) -> Held:
    names = ("aggregate_type", "aggregate_id", *BlockedAggregate._fields)
    statement = select(*(table.c[name] for name in names)).where(_of(projection))
    return {
        (kind, name): BlockedAggregate(*rest) for kind, name, *rest in connection.execute(statement)
    }


def try_again(connection: Connection, projection: Projection, held: Held) -> Held:
    """Forget the errors, so that the events are tried again: the code may have been fixed."""
    connection.execute(update(table).where(_of(projection)).values(error=None))
    return {key: hold._replace(error=None) for key, hold in held.items()}


def record(
    connection: Connection,
    projection: Projection,
    applied: Applied,
    now: int,
    held: Held,
    *,
    seen: bool = True,
) -> Held:
    """Record the gaps of a batch, and unblock aggregates whose missing events have all come."""
    gaps = {gap.key: gap for gap in applied.gaps}
    touched = {
        key: _hold(held.get(key), gaps.get(key), applied.reached.get(key, 0) + 1, now)
        for key in gaps.keys() | (held.keys() & applied.reached.keys())
    }
    waiting = {key: one for key, one in touched.items() if one.version_needed <= one.version_seen}
    over = touched.keys() - waiting.keys()
    names = ("projection", "projection_version", "aggregate_type", "aggregate_id")
    rows = [(projection.name, projection.version, *key, *hold) for key, hold in waiting.items()]
    put(connection, table, BulkRows((*names, *BlockedAggregate._fields), rows))
    if over:
        columns = table.c.aggregate_type, table.c.aggregate_id
        this = and_(*(column == bindparam(f"of_{column.name}") for column in columns))
        keys = [{"of_aggregate_type": kind, "of_aggregate_id": name} for kind, name in over]
        connection.execute(delete(table).where(_of(projection), this), keys)
    for key in sorted(gaps) if seen else ():
        if key not in held or (gaps[key].fault and not held[key].error):
            _report(projection, gaps[key])
    after = {key: hold for key, hold in {**held, **waiting}.items() if key not in over}
    _require_few_blocked(after, applied)
    return after


def _hold(
    before: BlockedAggregate | None, gap: Gap | None, needed: int, now: int
) -> BlockedAggregate:
    if gap is not None:
        needed = gap.version_needed
    hold = (before or BlockedAggregate(needed, 0, now))._replace(version_needed=needed)
    if before is not None and before.version_needed != needed:
        hold = hold._replace(error=None)  # that event was applied
    if gap is not None:
        hold = hold._replace(version_seen=max(hold.version_seen, gap.version_seen))
        if gap.fault is not None:
            # PostgreSQL stores no NUL
            hold = hold._replace(error=spell_out(str(gap.fault))[:SHOWN_CHARS])
    return hold


def _require_few_blocked(held: Held, applied: Applied) -> None:
    faults = [gap.fault for gap in applied.gaps if gap.fault is not None]
    if faults and sum(hold.error is not None for hold in held.values()) > MOST_AT_FAULT:
        raise TooManyBlockedError(faults[-1])


def _report(projection: Projection, gap: Gap) -> None:
    log.error(
        "projection %s v%s blocks %s %s at version %s: %s; the others continue",
        projection.name, projection.version, *gap.key, gap.version_needed,
        gap.fault or f"it is missing, and version {gap.version_seen} has come",
        exc_info=gap.fault,
    )  # fmt: skip


def forget(connection: Connection, projection: Projection) -> None:
    connection.execute(delete(table).where(_of(projection)))


def _of(projection: Projection) -> ColumnElement[bool]:
    return (table.c.projection == projection.name) & (
        table.c.projection_version == projection.version
    )

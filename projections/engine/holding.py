"""Aggregates that wait for a missing event: found, reported, and never applied past the gap."""

import logging

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    MetaData,
    Table,
    Text,
    and_,
    bindparam,
    delete,
    select,
)

from projections.engine.instant import InstantType
from projections.engine.projection import Applied, Gap, Projection
from projections.engine.statements import is_any_of, put

log = logging.getLogger(__name__)

metadata = MetaData()
table = Table(
    "projection_held_v1",
    metadata,
    Column("projection", Text, primary_key=True),
    Column("projection_version", BigInteger, primary_key=True),
    Column("aggregate_type", Text, primary_key=True),
    Column("aggregate_id", Text, primary_key=True),
    Column("version_needed", BigInteger, nullable=False),
    Column("version_seen", BigInteger, nullable=False),
    Column("found_at", InstantType, nullable=False),
)

AggregateKey = tuple[str, str]


def record(connection: Connection, projection: Projection, applied: Applied, now: int) -> None:
    """Write down the gaps of a batch, and drop the holds whose missing events have come.

    An aggregate that got some of its missing events, and not all, stays held for the next one.

    Args:
        connection: Inside the projection's transaction.
        projection: Whose batch it was.
        applied: What the batch did.
        now: When a new gap counts as found, in epoch milliseconds.
    """
    gaps = {(gap.aggregate_type, gap.aggregate_id): gap for gap in applied.gaps}
    held = _held(connection, projection, {*gaps, *applied.reached})
    waiting, over = [], []
    for key in {**held, **gaps}:
        seen, found_at = held.get(key, (0, now))
        if key in gaps:
            needed, seen = gaps[key].version_needed, max(seen, gaps[key].version_seen)
        else:
            needed = applied.reached[key] + 1
        identity = {**_identity(projection), "aggregate_type": key[0], "aggregate_id": key[1]}
        if needed > seen:
            over.append(identity)
        else:
            waits = {"version_needed": needed, "version_seen": seen, "found_at": found_at}
            waiting.append(identity | waits)
    put(connection, table, waiting)
    _drop(connection, over)
    for key in sorted(gaps.keys() - held.keys()):
        _report(projection, gaps[key])


def _held(
    connection: Connection, projection: Projection, keys: set[AggregateKey]
) -> dict[AggregateKey, tuple[int, int]]:
    """Return the highest version seen, and when the gap was found, of what is held of `keys`."""
    statement = select(
        table.c.aggregate_type, table.c.aggregate_id, table.c.version_seen, table.c.found_at
    ).where(
        table.c.projection == projection.name,
        table.c.projection_version == projection.version,
        is_any_of(connection, table.c.aggregate_id, {aggregate_id for _, aggregate_id in keys}),
    )
    rows = connection.execute(statement)
    found = {(kind, name): (seen, at) for kind, name, seen, at in rows}
    return {key: found[key] for key in found.keys() & keys}


def _drop(connection: Connection, identities: list[dict[str, object]]) -> None:
    if identities:
        this = and_(*(table.c[name] == bindparam(f"of_{name}") for name in identities[0]))
        named = [{f"of_{name}": value for name, value in row.items()} for row in identities]
        connection.execute(delete(table).where(this), named)


def _identity(projection: Projection) -> dict[str, object]:
    return {"projection": projection.name, "projection_version": projection.version}


def _report(projection: Projection, gap: Gap) -> None:
    log.error(
        "projection %s v%s holds %s %s: it needs version %s and has seen %s; "
        "the others go on",
        projection.name, projection.version, gap.aggregate_type, gap.aggregate_id,
        gap.version_needed, gap.version_seen,
    )  # fmt: skip


def forget(connection: Connection, projection: Projection) -> None:
    """Remove what it holds, for a version that is dropped."""
    statement = delete(table).where(
        table.c.projection == projection.name, table.c.projection_version == projection.version
    )
    connection.execute(statement)

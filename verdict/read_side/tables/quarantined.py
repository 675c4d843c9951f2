"""`aggregate_quarantined`: aggregates whose history is damaged, for "which ones are left out?".

A copy of the active quarantines on the skips topic. The decider rejects their commands, so
projections get no events of them, and show them as held.
"""

from collections.abc import Iterable
from dataclasses import asdict

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    MetaData,
    Select,
    Table,
    Text,
    and_,
    delete,
    exists,
    func,
    select,
)

from verdict.adapters.sql.instant import InstantType
from verdict.adapters.sql.statements import add_new
from verdict.model.nul import spell_out
from verdict.model.source import Source
from verdict.read_side.tables import blocked, followed_by, versions
from verdict.read_side.tables.version_state import VersionState
from verdict.wire.skip_record import DamagedAggregate, Kind, SkipRecord, active_quarantines

metadata = MetaData()
table = Table(
    "aggregate_quarantined_v1",
    metadata,
    Column("aggregate_type", Text, primary_key=True),
    Column("aggregate_id", Text, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("last_version", BigInteger, nullable=False),
    Column("error", Text, nullable=False),
    Column("topic", Text, nullable=False),
    Column("partition", BigInteger, nullable=False),
    Column("offset", BigInteger, nullable=False),
    Column("operator", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("decided_at", InstantType, nullable=False),
)


def copy(connection: Connection, decisions: Iterable[SkipRecord]) -> None:
    """Write the active quarantines down in the place of those that were."""
    rows = [
        {
            **asdict(of),
            **asdict(one.source),
            "error": spell_out(of.error),  # PostgreSQL stores no NUL
            "operator": one.operator,
            "reason": one.reason,
            "decided_at": one.decided_at,
        }
        for one in active_quarantines(decisions).values()
        if (of := one.aggregate) is not None
    ]
    connection.execute(delete(table))
    add_new(connection, table, rows)


def load(connection: Connection) -> list[SkipRecord]:
    """Return the decisions by which aggregates are quarantined, as far as they are copied."""
    rows = connection.execute(select(table).order_by(table.c.decided_at)).all()
    return [
        SkipRecord(
            source=Source(row.topic, row.partition, row.offset),
            until_offset=row.offset,
            operator=row.operator,
            reason=row.reason,
            decided_at=row.decided_at,
            kind=Kind.QUARANTINED,
            aggregate=DamagedAggregate(
                row.aggregate_type, row.aggregate_id, row.version, row.last_version, row.error
            ),
        )
        for row in rows
    ]


def shown() -> Select[*tuple[object, ...]]:
    """Return the rows of the view."""
    return select(*(column for column in table.c if column is not table.c.last_version))


def held() -> Select[*tuple[object, ...]]:
    """Return quarantined aggregates as rows of `projection_blocked`, of each live projection.

    The archive keeps every event that comes, and holds none.
    """
    of, live, follows, other = table.c, versions.table.c, followed_by.table.c, blocked.table.c
    # of an aggregate without any event, a response shows the damage
    events = func.replace(of.topic, ".responses", ".events")
    is_held = exists().where(
        other.projection == live.projection,
        other.projection_version == live.version,
        other.aggregate_type == of.aggregate_type,
        other.aggregate_id == of.aggregate_id,
    )
    return (
        select(
            live.projection,
            live.version.label("projection_version"),
            of.aggregate_type,
            of.aggregate_id,
            of.version.label("version_needed"),
            of.last_version.label("version_seen"),
            of.decided_at.label("found_at"),
            ("its history is damaged, so it is quarantined: " + of.error).label("error"),
        )
        .join_from(table, followed_by.table, follows.topic == events)
        .join(
            versions.table,
            and_(live.projection == follows.projection, live.state == VersionState.LIVE),
        )
        .where(live.projection != "event_archive", ~is_held)
    )

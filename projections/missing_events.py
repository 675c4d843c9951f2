"""The events that held aggregates wait for, from the archive, which never holds anything back.

Only what lies before a projection's position is given to it: it has passed that over. So its rows
are those of the events before its position, in whatever order these lie on their topics.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, Select, Table, and_, select

from projections.engine import holding, position
from projections.engine.batch import Delivery, Record, Unreadable
from projections.engine.projection import Projection
from projections.event_archive import event_archive
from schemas.wire.records import decode_event

MOST = 1_000  # in one batch; what is left comes with the next one

ARCHIVE = event_archive().table  # it has no other version, as it cannot be built again


def missing_events(connection: Connection, projection: Projection) -> Sequence[Delivery]:
    """Return archived events that the projection's held aggregates need.

    Args:
        connection: Inside the projection's transaction, in which its position was advanced.
        projection: Whose aggregates.

    Returns:
        `MOST` at most, of each aggregate from the needed one on. What cannot be read is there too,
        with the reason.
    """
    wait = holding.table.c.error.is_(None)  # else the event is there, and at fault
    return _fetched(connection, _asked(projection, wait))


def events_of(
    connection: Connection, projection: Projection, key: holding.AggregateKey
) -> Sequence[Delivery]:
    """Return archived events of one held aggregate, from the one that it needs on, `MOST` at most.

    Args:
        connection: Inside a transaction that keeps the projection where it is.
        projection: Who holds it, for whatever reason.
        key: Of the aggregate.

    Returns:
        As `missing_events`; none when the archive lacks the needed one.
    """
    columns = holding.table.c
    this_one = and_(columns.aggregate_type == key[0], columns.aggregate_id == key[1])
    return _fetched(connection, _asked(projection, this_one))


def _fetched(connection: Connection, asked: Select[*tuple[Any, ...]]) -> Sequence[Delivery]:
    return [
        Delivery(topic, partition, offset, _record(aggregate_type, value), value)
        for aggregate_type, topic, partition, offset, value in connection.execute(asked)
    ]


def _asked(projection: Projection, whose: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    """Return one statement for the aggregates `whose` is true of.

    Those whose needed event is not there are out: else the events behind gaps that are never
    filled would take all the room.
    """
    held, needed, archived = holding.table, ARCHIVE.alias("needed"), ARCHIVE.alias("archived")
    return (
        select(
            held.c.aggregate_type,
            archived.c.topic,
            archived.c.partition,
            archived.c.offset,
            archived.c.value,
        )
        .join(needed, _of(held, needed) & (needed.c.version == held.c.version_needed))
        .join(at := position.table.alias("needed_at"), _passed(held, needed, at))
        .join(
            archived,
            _of(held, archived)
            & archived.c.version.between(held.c.version_needed, held.c.version_needed + MOST - 1),
        )
        .join(at := position.table.alias("archived_at"), _passed(held, archived, at))
        .where(
            held.c.projection == projection.name,
            held.c.projection_version == projection.version,
            whose,
        )
        .order_by(held.c.aggregate_type, held.c.aggregate_id, archived.c.version)
        .limit(MOST)
    )


def _of(held: Table, event: FromClause) -> ColumnElement[bool]:
    """Return whether the event is one of the held aggregate."""
    return (event.c.aggregate_type == held.c.aggregate_type) & (
        event.c.aggregate_id == held.c.aggregate_id
    )


def _passed(held: Table, event: FromClause, at: FromClause) -> ColumnElement[bool]:
    """Return whether the projection has come past the event; `at` is its position there."""
    return and_(
        at.c.projection == held.c.projection,
        at.c.version == held.c.projection_version,
        at.c.topic == event.c.topic,
        at.c.partition == event.c.partition,
        at.c.next_offset > event.c.offset,
    )


def _record(aggregate_type: str, value: bytes) -> Record | Unreadable:
    try:
        return decode_event(aggregate_type, value)
    except Exception as error:  # a bug or tampering, for the engine to report with the place
        return Unreadable(f"{type(error).__name__}: {error}")

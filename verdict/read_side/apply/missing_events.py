"""Events that blocked aggregates wait for, from the archive, which never blocks an aggregate.

A projection gets only events before its position. So its rows are those of the events before its
position, in whatever order these are on their topics.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, MetaData, Row, Select, and_, select

from verdict.model.application import Application
from verdict.read_side.apply.batch import Delivery, Record, UnreadableRecord
from verdict.read_side.live.decoding import storable_event
from verdict.read_side.projections.builtin.event_archive import archive_table
from verdict.read_side.projections.projection import Projection
from verdict.read_side.tables import blocked, position
from verdict.wire.catalog import catalog_of
from verdict.wire.error_text import kind_and_text

MOST = 1_000  # in one batch; the others come with the next one

ARCHIVE = archive_table(MetaData())  # it has one version, as it cannot be rebuilt
ARCHIVED = ARCHIVE.alias("archived")


def missing_events(
    application: Application, connection: Connection, projection: Projection
) -> Sequence[Delivery]:
    """Return archived events that the projection's blocked aggregates wait for."""
    return _fetched(application, connection, _released(projection))


def events_of(
    application: Application,
    connection: Connection,
    projection: Projection,
    key: blocked.AggregateKey,
) -> Sequence[Delivery]:
    """Return archived events of one blocked aggregate, from the needed one on, at most `MOST`."""
    columns = blocked.table.c
    this_one = and_(columns.aggregate_type == key[0], columns.aggregate_id == key[1])
    return _fetched(application, connection, _asked(projection, this_one))


def _fetched(
    application: Application, connection: Connection, asked: Select[*tuple[Any, ...]]
) -> Sequence[Delivery]:
    return [
        Delivery(row.topic, row.partition, row.offset, archived_record(application, row), row.value)
        for row in connection.execute(asked)
    ]


def _asked(projection: Projection, whose: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    held, archived = blocked.table, ARCHIVED
    return (
        select(
            held.c.aggregate_type,
            held.c.aggregate_id,
            archived.c.version,
            archived.c.topic,
            archived.c.partition,
            archived.c.offset,
            archived.c.value,
            archived.c.hash,
        )
        .join(archived, _of(archived) & (archived.c.version >= held.c.version_needed))
        .join(at := position.table.alias("archived_at"), _passed(archived, at))
        .where(
            held.c.projection == projection.name,
            held.c.projection_version == projection.version,
            whose,
        )
        .order_by(held.c.aggregate_type, held.c.aggregate_id, archived.c.version)
        .limit(MOST)
    )


def _released(projection: Projection) -> Select[*tuple[Any, ...]]:
    """Return the statement for the aggregates whose missing event has come.

    The others are left out: events after gaps that are never filled would take all the room.
    """
    held, needed = blocked.table, ARCHIVE.alias("needed")
    at = position.table.alias("needed_at")
    waits = held.c.error.is_(None)  # else the event is there and cannot be applied
    near = ARCHIVED.c.version < held.c.version_needed + MOST
    of_needed = _of(needed) & (needed.c.version == held.c.version_needed)
    return _asked(projection, waits & near).join(needed, of_needed).join(at, _passed(needed, at))


def _of(event: FromClause) -> ColumnElement[bool]:
    """Return whether an event is one of the blocked aggregate."""
    held = blocked.table.c
    return (event.c.aggregate_type == held.aggregate_type) & (
        event.c.aggregate_id == held.aggregate_id
    )


def _passed(event: FromClause, at: FromClause) -> ColumnElement[bool]:
    """Return whether an event is before the projection's position `at`."""
    held = blocked.table
    return and_(
        at.c.projection == held.c.projection,
        at.c.version == held.c.projection_version,
        at.c.topic == event.c.topic,
        at.c.partition == event.c.partition,
        at.c.next_offset > event.c.offset,
    )


def archived_record(application: Application, row: Row[Any]) -> Record | UnreadableRecord:
    """Return the event in a row of the archive, if its hash is that of its value."""
    event = row.aggregate_type, row.aggregate_id, row.version
    if sha256(row.value).hexdigest() != row.hash:
        altered = "its row in event_archive was altered: the hash is not that of the value"
        return UnreadableRecord(altered, event)
    try:
        return storable_event(catalog_of(application)[row.aggregate_type], row.value)
    except Exception as error:  # a bug or tampering: reported with its position
        return UnreadableRecord(kind_and_text(error), event)

"""The events that held aggregates wait for, from the archive, which never holds anything back.

Only what lies before a projection's position is given to it: it has passed that over. So its rows
are those of the events before its position, in whatever order these lie on their topics.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    MetaData,
    Row,
    Select,
    Table,
    and_,
    select,
)

from verdict.model.application import Application
from verdict.read_side.apply.batch import Delivery, Record, UnreadableRecord
from verdict.read_side.live.decoding import storable_event
from verdict.read_side.projections.builtin.event_archive import archive_table
from verdict.read_side.projections.projection import Projection
from verdict.read_side.tables import blocked, position
from verdict.wire.catalog import catalog_of
from verdict.wire.error_text import kind_and_text

MOST = 1_000  # in one batch; what is left comes with the next one

ARCHIVE = archive_table(MetaData())  # it has no other version, as it cannot be built again
ARCHIVED = ARCHIVE.alias("archived")


def missing_events(
    application: Application, connection: Connection, projection: Projection
) -> Sequence[Delivery]:
    """Return archived events that the projection's held aggregates need."""
    return _fetched(application, connection, _released(projection))


def events_of(
    application: Application,
    connection: Connection,
    projection: Projection,
    key: blocked.AggregateKey,
) -> Sequence[Delivery]:
    """Return archived events of one held aggregate, from what it needs on, `MOST` at most."""
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
    """Return one statement for the aggregates `whose` is true of."""
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
        .join(
            archived,
            _of(held, archived) & (archived.c.version >= held.c.version_needed),
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


def _released(projection: Projection) -> Select[*tuple[Any, ...]]:
    """Return the statement for the aggregates whose missing event has come.

    Those whose needed event is not there are out: else the events behind gaps that are never
    filled would take all the room.
    """
    held, needed = blocked.table, ARCHIVE.alias("needed")
    at = position.table.alias("needed_at")
    waits = held.c.error.is_(None)  # else the event is there, and at fault
    near = ARCHIVED.c.version < held.c.version_needed + MOST
    of_needed = _of(held, needed) & (needed.c.version == held.c.version_needed)
    return (
        _asked(projection, waits & near).join(needed, of_needed).join(at, _passed(held, needed, at))
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


def archived_record(application: Application, row: Row[Any]) -> Record | UnreadableRecord:
    """Return what a row of the archive holds, if its hash is that of its value."""
    event = row.aggregate_type, row.aggregate_id, row.version
    if sha256(row.value).hexdigest() != row.hash:
        altered = "its row in event_archive was altered: the hash is not that of the value"
        return UnreadableRecord(altered, event)
    try:
        return storable_event(catalog_of(application)[row.aggregate_type], row.value)
    except Exception as error:  # a bug or tampering, for the engine to report with the place
        return UnreadableRecord(kind_and_text(error), event)

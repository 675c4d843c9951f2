"""Events that blocked aggregates wait for, from the archive, which never blocks an aggregate.

A projection gets only events before its position, so its rows follow from these alone.
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
HELD = blocked.table


def missing_events(
    application: Application, connection: Connection, projection: Projection
) -> Sequence[Delivery]:
    """Return archived events that the projection's blocked aggregates wait for."""
    return _fetched(application, connection, released(projection))


def events_of(
    application: Application,
    connection: Connection,
    projection: Projection,
    key: blocked.AggregateKey,
) -> Sequence[Delivery]:
    """Return archived events of one blocked aggregate, from the needed one on, at most `MOST`."""
    this_one = and_(HELD.c.aggregate_type == key[0], HELD.c.aggregate_id == key[1])
    return _fetched(application, connection, _waiting(projection, this_one))


def _fetched(
    application: Application, connection: Connection, wanted: Select[*tuple[Any, ...]]
) -> Sequence[Delivery]:
    return [
        Delivery(row.topic, row.partition, row.offset, archived_record(application, row), row.value)
        for row in connection.execute(wanted)
    ]


def _waiting(projection: Projection, whose: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    """Return the statement for archived events of blocked aggregates, from the needed ones on."""
    held, archived, at = HELD.c, ARCHIVED, position.table.alias("archived_at")
    columns = ("version", "topic", "partition", "offset", "value", "hash")
    return (
        select(held.aggregate_type, held.aggregate_id, *(archived.c[name] for name in columns))
        .join_from(HELD, archived, _of(archived) & (archived.c.version >= held.version_needed))
        .join(at, _passed(archived, at))
        .where(
            held.projection == projection.name,
            held.projection_version == projection.version,
            whose,
        )
        .order_by(held.aggregate_type, held.aggregate_id, archived.c.version)
        .limit(MOST)
    )


def released(projection: Projection) -> Select[*tuple[Any, ...]]:
    """Return the statement for the aggregates whose missing event has come.

    The others are left out: events after gaps that are never filled would take all the room.
    """
    held, needed, at = HELD.c, ARCHIVE.alias("needed"), position.table.alias("needed_at")
    waits = held.error.is_(None)  # else the event is there and cannot be applied
    near = ARCHIVED.c.version < held.version_needed + MOST
    of_needed = _of(needed) & (needed.c.version == held.version_needed)
    return _waiting(projection, waits & near).join(needed, of_needed).join(at, _passed(needed, at))


def _of(event: FromClause) -> ColumnElement[bool]:
    """Return whether an event is one of the blocked aggregate."""
    return (event.c.aggregate_type == HELD.c.aggregate_type) & (
        event.c.aggregate_id == HELD.c.aggregate_id
    )


def _passed(event: FromClause, at: FromClause) -> ColumnElement[bool]:
    """Return whether an event is before the projection's position `at`."""
    return and_(
        at.c.projection == HELD.c.projection,
        at.c.version == HELD.c.projection_version,
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

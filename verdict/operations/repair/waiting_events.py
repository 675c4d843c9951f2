"""What is known of events, and of states, that a projection cannot apply or that never came."""

from collections.abc import Collection, Iterator
from typing import Any

from pydantic_core import from_json
from sqlalchemy import Connection, Row, Select, and_, or_, select

from verdict.model.application import Application
from verdict.model.message import iso_time
from verdict.model.recorded_event import RecordedEvent
from verdict.operations.repair.blocked import Facts, NothingWaitsError
from verdict.read_side.apply.batch import UnreadableRecord
from verdict.read_side.apply.missing_events import ARCHIVE, archived_record
from verdict.read_side.tables import blocked, interventions, versions
from verdict.read_side.tables.interventions import Intervention
from verdict.read_side.tables.states import VersionState
from verdict.wire.json import payload_json


def every_waiting(connection: Connection, of_states: Collection[str]) -> Iterator[Facts]:
    """Yield the events by projection and aggregate, without their payloads."""
    for row in connection.execute(_asked()):
        yield _facts(row, of_states)


def waiting_event(
    application: Application, connection: Connection, address: str, of_states: Collection[str]
) -> Facts:
    """Return an event, as it was decided and as it was replaced, and all that was done about it.

    The arguments are those of `every_waiting`, the application, and an item's `id`.

    Raises:
        NothingWaitsError: There is none.
    """
    name, aggregate_type, aggregate_id = parts_of(address)
    held, done = blocked.table.c, interventions.table.c
    this_one = _asked().where(
        held.projection == name,
        held.aggregate_type == aggregate_type,
        held.aggregate_id == aggregate_id,
    )
    of_it = (
        select(*(done[field] for field in Intervention._fields))
        .where(
            done.projection == name,
            done.aggregate_type == aggregate_type,
            done.aggregate_id == aggregate_id,
        )
        .order_by(done.seq)
    )
    row = connection.execute(this_one).first()
    if row is None:
        raise NothingWaitsError(address)
    in_force = interventions.in_force(connection, name)
    replaced = in_force.get((aggregate_type, aggregate_id, row.version_needed))
    facts = _facts(row, of_states)
    done_about_it = [_read(dict(made._mapping)) for made in connection.execute(of_it)]
    told = {"replacement": replaced and from_json(replaced), "interventions": done_about_it}
    return facts | _content(application, row, facts["error"]) | told


def parts_of(address: str) -> list[str]:
    """Return projection, aggregate type and aggregate id, which may hold slashes.

    Raises:
        NothingWaitsError: The address has fewer parts.
    """
    parts = address.split("/", 2)
    if len(parts) < 3:
        raise NothingWaitsError(address)
    return parts


def _asked() -> Select[*tuple[Any, ...]]:
    """Return the statement for what the live versions wait at, with the archived events."""
    held, live = blocked.table, versions.table
    archived = and_(
        ARCHIVE.c.aggregate_type == held.c.aggregate_type,
        ARCHIVE.c.aggregate_id == held.c.aggregate_id,
        ARCHIVE.c.version == held.c.version_needed,
    )
    is_live = and_(
        live.c.projection == held.c.projection,
        live.c.version == held.c.projection_version,
        live.c.state == VersionState.LIVE,
    )
    names = (
        "version", "event_id", "event_type", "value", "hash", "topic", "partition", "offset",
        "decided_at",
    )  # fmt: skip
    return (
        select(held, *(ARCHIVE.c[name] for name in names))
        .join(live, is_live)
        .outerjoin(ARCHIVE, archived)
        .where(or_(held.c.error.is_not(None), ARCHIVE.c.version.is_(None)))  # else it is on its way
        .order_by(held.c.projection, held.c.aggregate_type, held.c.aggregate_id)
    )


def _facts(row: Row[Any], of_states: Collection[str]) -> Facts:
    """Return what is known of a held aggregate; what the archive does not have yet is None."""
    facts = _event_facts(row)
    if row.projection not in of_states:
        return facts
    offset = row.version_needed - 1
    known = {"topic": row.aggregate_type, "offset": offset}
    return facts | known | {"kind": "state", "what": f"state, offset {offset}"}


def _event_facts(row: Row[Any]) -> Facts:
    missing = f"version {row.version_needed} is missing, and {row.version_seen} has come"
    return {
        "id": f"{row.projection}/{row.aggregate_type}/{row.aggregate_id}",
        "kind": "event" if row.error else "gap",
        "since": iso_time(row.found_at),
        "behind": row.version_seen - row.version_needed,
        "what": f"{row.event_type or 'event'}, version {row.version_needed}",
        "error": row.error or missing,
        "projection": row.projection,
        "projection_version": row.projection_version,
        "aggregate_type": row.aggregate_type,
        "aggregate_id": row.aggregate_id,
        "version": row.version_needed,
        "event_id": row.event_id,
        "event_type": row.event_type,
        "topic": row.topic,
        "partition": row.partition,
        "offset": row.offset,
        "decided_at": row.decided_at and iso_time(row.decided_at),
    }


def _content(application: Application, row: Row[Any], error: str) -> Facts:
    """Return the event's payload as it is read today, and why it is none where it is archived."""
    if row.value is None:
        return {"payload": None}
    record = archived_record(application, row)
    if isinstance(record, UnreadableRecord):
        return {"payload": None, "error": f"{error}; its payload is not shown: {record.error}"}
    assert isinstance(record, RecordedEvent), "events are archived, and nothing else"
    return {"payload": from_json(payload_json(record.payload))}


def _read(made: Facts) -> Facts:
    payloads = {name: made[name] and from_json(made[name]) for name in ("before", "after")}
    return made | {"at": iso_time(made["at"])} | payloads

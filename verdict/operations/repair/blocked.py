"""Blocked aggregates as they are shown, and what may be done about one."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import from_json
from sqlalchemy import Connection, Row, Select, and_, or_, select

from verdict.errors import VerdictError
from verdict.model.application import Application
from verdict.model.message import Fields, iso_time
from verdict.model.recorded_event import RecordedEvent
from verdict.operations.repair.operator import NothingWaitsError
from verdict.read_side.apply.batch import Delivery, UnreadableRecord
from verdict.read_side.apply.missing_events import ARCHIVE, archived_record
from verdict.read_side.projections.projection import Projection
from verdict.read_side.tables import blocked, interventions, versions
from verdict.read_side.tables.blocked import AggregateKey, BlockedAggregate
from verdict.read_side.tables.interventions import Intervention
from verdict.read_side.tables.row_states import VersionState
from verdict.wire.error_text import problems
from verdict.wire.json import payload_from, payload_json

MOST_BYTES = 1024 * 1024  # of an edited payload, as of the events of a command
ARCHIVED = (
    "version", "event_id", "event_type", "value", "hash", "topic", "partition", "offset",
    "decided_at",
)  # fmt: skip


class BlockedItem(NamedTuple):
    """A blocked aggregate of a live projection, and the event that it waits for.

    `event` is None if it is missing. `payload` is the JSON in force in its place; None skips it.
    `events` are the archived ones from it on, as many as the archive gives at a time.
    """

    projection: Projection
    key: AggregateKey
    hold: BlockedAggregate
    event: RecordedEvent | UnreadableRecord | None
    payload: str | None
    events: Sequence[Delivery]

    def versions_to_skip(self, address: str, all_behind: bool) -> range:
        """Return the version of the event, or those that are missing."""
        needed, seen = self.hold.version_needed, self.hold.version_seen
        if all_behind:
            return range(needed, seen + 1)
        if self.event is not None:
            return range(needed, needed + 1)
        first = next((one.record for one in self.events), None)
        if not isinstance(first, RecordedEvent):
            raise MissingVersionError(address, self.hold)
        return range(needed, first.version)

    def remaining_error(self, after: BlockedAggregate | None) -> str | None:
        """Return why the event still cannot be applied, None if it was applied."""
        waits = after is not None and after.version_needed == self.hold.version_needed
        return after.error if waits and after is not None else None


class MissingVersionError(VerdictError):
    """The event that an aggregate waits for is not there."""

    def __init__(self, address: str, hold: BlockedAggregate) -> None:
        super().__init__(
            f"{address}: version {hold.version_needed} is not in the archive: it is applied by "
            "itself as soon as it comes; see in `verdict status` how far event_archive is behind, "
            f"and when it is lost for good, `verdict blocked skip {address} --reason …`"
        )


class StateKeyError(VerdictError):
    """It is a state that cannot be applied, and nothing here can fix it."""

    def __init__(self, address: str, projection: Projection, topic: str) -> None:
        super().__init__(
            f"{address} is a state, which only the next record of its key supersedes: write the "
            f"whole state to {topic} again, or no value if there is none; when it is the code that "
            f"was fixed, `verdict projection rebuild {projection.name}` reads it again"
        )


def events_behind(hold: BlockedAggregate) -> int:
    """Return how many events wait behind the one that blocks."""
    return hold.version_seen - hold.version_needed


def parse_payload(event: RecordedEvent, document: bytes) -> str:
    """Return a payload that fits the event's class, as JSON."""
    about = f"no payload for {type(event.payload).__name__}"
    if len(document) > MOST_BYTES:
        raise VerdictError(f"{about}: {len(document)} bytes, {MOST_BYTES} are allowed")
    try:
        return payload_json(payload_from(type(event.payload), document))
    except ValidationError as error:
        raise VerdictError(f"{about}: {problems(error, 'it')}") from error
    except ValueError as error:
        raise VerdictError(f"{about}: {error}") from error


def parts_of(address: str) -> tuple[str, AggregateKey]:
    """Return projection, and aggregate type and id, which may have slashes."""
    parts = address.split("/", 2)
    if len(parts) < 3:
        raise NothingWaitsError(address)
    return parts[0], (parts[1], parts[2])


def list_blocked(connection: Connection, of_states: Collection[str]) -> Iterator[Fields]:
    """Yield the blocked aggregates of all projections, without payloads.

    The projections named in `of_states` follow topics of states.
    """
    for row in connection.execute(_waiting()):
        yield _facts(row, of_states)


def show_blocked(
    application: Application, connection: Connection, address: str, of_states: Collection[str]
) -> Fields:
    """Return one with its event as it was decided and as it was replaced, and what was done."""
    name, (aggregate_type, aggregate_id) = parts_of(address)
    held, done = blocked.table.c, interventions.table.c
    this_one = _waiting().where(
        held.projection == name,
        held.aggregate_type == aggregate_type,
        held.aggregate_id == aggregate_id,
    )
    about_it = (
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
    return {
        **facts,
        **_content(application, row, facts["error"]),
        "replacement": replaced and from_json(replaced),
        "interventions": [_intervention(made) for made in connection.execute(about_it)],
    }


def _waiting() -> Select[*tuple[Any, ...]]:
    """Return the statement for what blocks live versions, with the archived events."""
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
    return (
        select(held, *(ARCHIVE.c[name] for name in ARCHIVED))
        .join(live, is_live)
        .outerjoin(ARCHIVE, archived)
        .where(or_(held.c.error.is_not(None), ARCHIVE.c.version.is_(None)))  # else it is on its way
        .order_by(held.c.projection, held.c.aggregate_type, held.c.aggregate_id)
    )


def _facts(row: Row[Any], of_states: Collection[str]) -> Fields:
    """Return what is known; what the archive does not have yet is None."""
    missing = f"version {row.version_needed} is missing, and {row.version_seen} has come"
    facts: Fields = {
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
    if row.projection in of_states:
        offset = row.version_needed - 1
        facts |= {"kind": "state", "what": f"state, offset {offset}"}
        facts |= {"topic": row.aggregate_type, "offset": offset}
    return facts


def _content(application: Application, row: Row[Any], error: object) -> Fields:
    """Return the payload, or why an archived event has none."""
    if row.value is None:
        return {"payload": None}
    record = archived_record(application, row)
    if isinstance(record, UnreadableRecord):
        return {"payload": None, "error": f"{error}; its payload is not shown: {record.error}"}
    assert isinstance(record, RecordedEvent), "events are archived, and nothing else"
    return {"payload": from_json(payload_json(record.payload))}


def _intervention(made: Row[Any]) -> Fields:
    payloads = {name: made._mapping[name] for name in ("before", "after")}
    read = {name: text and from_json(text) for name, text in payloads.items()}
    return {**made._asdict(), **read, "at": iso_time(made.at)}

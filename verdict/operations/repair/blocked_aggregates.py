"""Blocked aggregates of projections: what is shown of them, and what an operator does about one.

Each step locks the projection for one transaction, whether its service runs or not. The position
of the projection does not move, and the log is never changed. A state that cannot be applied is
shown, too: only a newer record of its key replaces it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import from_json
from sqlalchemy import ColumnElement, Connection, Engine, Row, Select, and_, or_, select

from verdict.adapters.sql.time_text import wall_clock
from verdict.errors import VerdictError
from verdict.model.application import Application
from verdict.model.message import Fields, iso_time
from verdict.model.recorded_event import RecordedEvent
from verdict.operations.repair.operator import NothingWaitsError, OperatorIdentity
from verdict.read_side.apply.batch import Delivery, UnreadableRecord
from verdict.read_side.apply.missing_events import ARCHIVE, archived_record, events_of
from verdict.read_side.apply.overrides import take_charge, try_again
from verdict.read_side.catalog import FIRST, AtVersion
from verdict.read_side.projections.projection import CannotApplyError, Projection
from verdict.read_side.rebuild.errors import DifferentSettingsError
from verdict.read_side.schema.database import snapshot
from verdict.read_side.tables import blocked, interventions, versions
from verdict.read_side.tables.blocked import AggregateKey, BlockedAggregate
from verdict.read_side.tables.interventions import Intervention, Kind
from verdict.read_side.tables.row_states import VersionState
from verdict.read_side.tables.versions import SettingsChangedError, SupersededError
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

    address: str
    projection: Projection
    key: AggregateKey
    hold: BlockedAggregate
    event: RecordedEvent | UnreadableRecord | None = None
    payload: str | None = None
    events: Sequence[Delivery] = ()

    def missing(self) -> VerdictError:
        """Return the error that the event is not there."""
        return VerdictError(
            f"{self.address}: version {self.hold.version_needed} is not in the archive: it is "
            "applied by itself as soon as it comes; see in `verdict status` how far event_archive "
            f"is behind, and when it is lost for good, `verdict blocked skip {self.address} "
            "--reason …`"
        )

    def versions_to_skip(self, all_behind: bool) -> range:
        """Return the version of the event, or those that are missing."""
        needed, seen = self.hold.version_needed, self.hold.version_seen
        if all_behind:
            return range(needed, seen + 1)
        if self.event is not None:
            return range(needed, needed + 1)
        first = next((one.record for one in self.events), None)
        if not isinstance(first, RecordedEvent):
            raise self.missing()
        return range(needed, first.version)

    def remaining_error(self, after: BlockedAggregate | None) -> str | None:
        """Return why the event still cannot be applied, None if it was applied."""
        waits = after is not None and after.version_needed == self.hold.version_needed
        return after.error if waits and after is not None else None

    def record(
        self,
        connection: Connection,
        kind: Kind,
        by: OperatorIdentity,
        after: str | None = None,
        version: int | None = None,
    ) -> None:
        """Record what was done about the event that blocks, or about a later version."""
        needed = self.hold.version_needed
        before = self.payload if version in (None, needed) else None
        made = Intervention(kind, by.operator, by.reason, wall_clock(), before, after)
        interventions.record(connection, self.projection, (*self.key, version or needed), made)

    def apply(self, connection: Connection) -> BlockedAggregate | None:
        """Apply the events; return what blocks the aggregate then."""
        try:
            return try_again(connection, self.projection, self.key, self.events, wall_clock())
        except CannotApplyError as error:
            raise VerdictError(str(error)) from error


class BlockedAggregates:
    """Blocked aggregates by `PROJECTION/AGGREGATE_TYPE/AGGREGATE_ID`."""

    def __init__(
        self, application: Application, engine: Engine, declared: Mapping[str, AtVersion]
    ) -> None:
        self._application = application
        self._engine = engine
        self._declared = declared
        self._of_states = {name for name, at in declared.items() if not at(FIRST).waits_for_events}

    def listed(self) -> Iterator[Fields]:
        """Yield those of all projections, without payloads."""
        with snapshot(self._engine) as connection:
            for row in connection.execute(_waiting()):
                yield self._facts(row)

    def shown(self, address: str) -> Fields:
        """Return one with its event as decided and as replaced, and all that was done about it."""
        name, key = parts_of(address)
        done = interventions.table.c
        made = select(*(done[field] for field in Intervention._fields)).order_by(done.seq)
        with snapshot(self._engine) as connection:
            this_one = _waiting().where(_is_of(blocked.table.c, name, key))
            row = connection.execute(this_one).first()
            if row is None:
                raise NothingWaitsError(address)
            replaced = interventions.in_force(connection, name).get((*key, row.version_needed))
            about_it = connection.execute(made.where(_is_of(done, name, key))).all()
        facts = self._facts(row)
        return {
            **facts,
            **self._content(row, facts["error"]),
            "replacement": replaced and from_json(replaced),
            "interventions": [*map(_intervention, about_it)],
        }

    def edit(self, address: str, document: bytes, by: OperatorIdentity) -> str:
        """Let the projection use another payload than the event's, from its next try on."""
        with self._engine.begin() as connection:
            item = self._item(connection, address)
            if item.event is None:
                raise item.missing()
            if isinstance(item.event, UnreadableRecord):
                raise VerdictError(f"{address} cannot be read: {item.event.error}")
            item.record(connection, "edit", by, parse_payload(item.event, document))
            trial = connection.begin_nested()
            after = item.apply(connection)
            trial.rollback()
        if error := item.remaining_error(after):
            return f"{address} is edited, and still cannot be applied: {error}"
        return f"{address} is edited: `verdict blocked retry {address}` applies it"

    def retry(self, address: str, by: OperatorIdentity) -> str:
        """Apply the event and those that wait behind it."""
        with self._engine.begin() as connection:
            item = self._item(connection, address)
            if item.event is None and not item.events:
                raise item.missing()
            item.record(connection, "replay", by, item.payload)
            after = item.apply(connection)
        if error := item.remaining_error(after):
            raise VerdictError(
                f"{address} still cannot be applied, and {_behind(item.hold)} wait behind it: "
                f"{error}; fix the projection, or `verdict blocked edit` or `skip` it"
            )
        return self._apply_rest(address, "is applied", after)

    def skip(self, address: str, by: OperatorIdentity, all_behind: bool = False) -> str:
        """Skip the event, or those that are missing, and apply those that wait behind it."""
        with self._engine.begin() as connection:
            item = self._item(connection, address)
            skipped = item.versions_to_skip(all_behind)
            for version in skipped:
                item.record(connection, "evict", by, version=version)
            after = item.apply(connection)
        passed = "is" if len(skipped) == 1 else f"and {len(skipped) - 1} behind it are"
        return self._apply_rest(address, f"{passed} passed over", after)

    def _item(self, connection: Connection, address: str) -> BlockedItem:
        """Return what is blocked at an address, with the archived events."""
        item = self._blocked(connection, address)
        projection, key, needed = item.projection, item.key, item.hold.version_needed
        if not projection.waits_for_events:
            raise VerdictError(
                f"{address} is a state, which only the next record of its key supersedes: write "
                f"the whole state to {key[0]} again, or no value if there is none; when it is the "
                f"code that was fixed, `verdict projection rebuild {projection.name}` reads it "
                "again"
            )
        item = self._with_events(connection, item)
        event = next((one.record for one in item.events), None)
        if isinstance(event, UnreadableRecord) and event.event == (*key, needed):
            return item._replace(event=event)
        if isinstance(event, RecordedEvent) and event.version == needed:
            in_force = interventions.in_force(connection, projection.name)
            payload = in_force.get((*key, needed), payload_json(event.payload))
            return item._replace(event=event, payload=payload)
        if item.hold.error is not None:
            raise VerdictError(
                f"version {needed} of {key[0]} {key[1]!r} is not in the archive yet: see in "
                "`verdict status` how far event_archive is behind, then try again"
            )
        return item

    def _blocked(self, connection: Connection, address: str) -> BlockedItem:
        found = self._find(connection, address)
        if found is None:
            raise NothingWaitsError(address)
        return found

    def _find(self, connection: Connection, address: str) -> BlockedItem | None:
        """Return what is blocked at an address; its projection is locked up to the commit."""
        name, key = parts_of(address)
        version = versions.live(connection, name) if name in self._declared else None
        if version is None:
            raise NothingWaitsError(address)
        projection = self._declared[name](version)
        try:
            take_charge(connection, projection)
            versions.check_settings(connection, projection)
        except SupersededError as error:
            raise VerdictError(f"{error}: try again") from error
        except SettingsChangedError as error:
            raise DifferentSettingsError(projection, error.found) from error
        hold = blocked.load(connection, projection).get(key)
        return hold and BlockedItem(address, projection, key, hold)

    def _with_events(self, connection: Connection, item: BlockedItem) -> BlockedItem:
        events = events_of(self._application, connection, item.projection, item.key)
        return item._replace(events=events)

    def _apply_rest(self, address: str, done: str, after: BlockedAggregate | None) -> str:
        """Apply the events that wait behind; return the message."""
        while after is not None and after.error is None:
            with self._engine.begin() as connection:
                if (item := self._find(connection, address)) is None:
                    after = None
                    break
                item = self._with_events(connection, item)
                is_ready = item.events and item.hold.error is None
                after = item.apply(connection) if is_ready else item.hold
            if after == item.hold:
                break  # a gap that no operator has decided about
        if after is None:
            return f"{address} {done}, and all that waited behind it"
        if after.error is None:
            return f"{address} {done}; now version {after.version_needed} is missing"
        return (
            f"{address} {done}; now it waits at version {after.version_needed}, and "
            f"{_behind(after)} behind it: {after.error}"
        )

    def _facts(self, row: Row[Any]) -> Fields:
        """Return what is known; what the archive does not have yet is None."""
        missing = f"version {row.version_needed} is missing, and {row.version_seen} has come"
        facts: Fields = {
            "id": blocked.address_of(row.projection, (row.aggregate_type, row.aggregate_id)),
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
        if row.projection in self._of_states:
            offset = row.version_needed - 1
            facts |= {"kind": "state", "what": f"state, offset {offset}"}
            facts |= {"topic": row.aggregate_type, "offset": offset}
        return facts

    def _content(self, row: Row[Any], error: object) -> Fields:
        """Return the payload, or why an archived event has none."""
        if row.value is None:
            return {"payload": None}
        record = archived_record(self._application, row)
        if isinstance(record, UnreadableRecord):
            return {"payload": None, "error": f"{error}; its payload is not shown: {record.error}"}
        assert isinstance(record, RecordedEvent), "events are archived, and nothing else"
        return {"payload": from_json(payload_json(record.payload))}


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


def _is_of(columns: Any, name: str, key: AggregateKey) -> ColumnElement[bool]:
    return and_(
        columns.projection == name, columns.aggregate_type == key[0], columns.aggregate_id == key[1]
    )


def _behind(hold: BlockedAggregate) -> int:
    return hold.version_seen - hold.version_needed


def _intervention(made: Row[Any]) -> Fields:
    payloads = {name: made._mapping[name] for name in ("before", "after")}
    read = {name: text and from_json(text) for name, text in payloads.items()}
    return {**made._asdict(), **read, "at": iso_time(made.at)}

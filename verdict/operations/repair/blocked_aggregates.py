"""What an operator does about an aggregate that a projection blocks.

Each step locks the projection for one transaction, while its service runs or not. The projection's
position does not move, and the log is never changed. A state that cannot be applied is shown, too:
only a newer record of its key replaces it.
"""

from collections.abc import Iterator, Mapping, Sequence

from sqlalchemy import Connection, Engine

from verdict.adapters.sql.time_text import wall_clock
from verdict.errors import VerdictError
from verdict.model.application import Application
from verdict.model.message import Fields
from verdict.model.recorded_event import RecordedEvent
from verdict.operations.repair.blocked import (
    BlockedItem,
    MissingVersionError,
    StateKeyError,
    events_behind,
    list_blocked,
    parse_payload,
    parts_of,
    show_blocked,
)
from verdict.operations.repair.operator import NothingWaitsError, OperatorIdentity
from verdict.read_side.apply.batch import Delivery, UnreadableRecord
from verdict.read_side.apply.missing_events import events_of
from verdict.read_side.apply.overrides import take_charge, try_again
from verdict.read_side.catalog import FIRST, AtVersion
from verdict.read_side.projections.projection import CannotApplyError, Projection
from verdict.read_side.rebuild.errors import DifferentSettingsError
from verdict.read_side.schema.database import snapshot
from verdict.read_side.tables import blocked, interventions, versions
from verdict.read_side.tables.blocked import AggregateKey, BlockedAggregate
from verdict.read_side.tables.interventions import Intervention, Kind
from verdict.read_side.tables.versions import SettingsChangedError, SupersededError
from verdict.wire.json import payload_json


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
        """Yield them, without payloads."""
        with snapshot(self._engine) as connection:
            yield from list_blocked(connection, self._of_states)

    def shown(self, address: str) -> Fields:
        """Return one with its event and all that was done about it."""
        with snapshot(self._engine) as connection:
            return show_blocked(self._application, connection, address, self._of_states)

    def edit(self, address: str, document: bytes, by: OperatorIdentity) -> str:
        """Let the projection use another payload than the event's, from its next try on."""
        with self._engine.begin() as connection:
            item = self._item(connection, address)
            if item.event is None:
                raise MissingVersionError(address, item.hold)
            if isinstance(item.event, UnreadableRecord):
                raise VerdictError(f"{address} cannot be read: {item.event.error}")
            payload = parse_payload(item.event, document)
            _record(connection, item, "edit", by, payload)
            trial = connection.begin_nested()
            after = _apply(connection, item.projection, item.key, item.events)
            trial.rollback()
        if error := item.remaining_error(after):
            return f"{address} is edited, and still cannot be applied: {error}"
        return f"{address} is edited: `verdict blocked retry {address}` applies it"

    def retry(self, address: str, by: OperatorIdentity) -> str:
        """Apply the event and those that wait behind it."""
        with self._engine.begin() as connection:
            item = self._item(connection, address)
            if item.event is None and not item.events:
                raise MissingVersionError(address, item.hold)
            _record(connection, item, "replay", by, item.payload)
            after = _apply(connection, item.projection, item.key, item.events)
        if error := item.remaining_error(after):
            raise VerdictError(
                f"{address} still cannot be applied, and {events_behind(item.hold)} wait behind "
                f"it: {error}; fix the projection, or `verdict blocked edit` or `skip` it"
            )
        return self._apply_rest(address, "is applied", after)

    def skip(self, address: str, by: OperatorIdentity, all_behind: bool = False) -> str:
        """Skip the event, or those that are missing, and apply those that wait behind it."""
        with self._engine.begin() as connection:
            item = self._item(connection, address)
            skipped = item.versions_to_skip(address, all_behind)
            for version in skipped:
                _record(connection, item, "evict", by, None, version)
            after = _apply(connection, item.projection, item.key, item.events)
        passed = "is" if len(skipped) == 1 else f"and {len(skipped) - 1} behind it are"
        return self._apply_rest(address, f"{passed} passed over", after)

    def accept(self, address: str, by: OperatorIdentity) -> str:
        """Let exports show the aggregate as it was before that event, while it is blocked."""
        with self._engine.begin() as connection:
            projection, key, hold = self._blocked(connection, address)
            made = Intervention("accept", by.operator, by.reason, wall_clock(), None, None)
            interventions.record(connection, projection, (*key, hold.version_needed), made)
        return (
            f"{address} waits on; `verdict export` goes on with what it was "
            f"before version {hold.version_needed}"
        )

    def _item(self, connection: Connection, address: str) -> BlockedItem:
        """Return what is blocked at an address; its projection is locked up to the commit."""
        projection, key, hold = self._blocked(connection, address)
        if not projection.waits_for_events:
            raise StateKeyError(address, projection, key[0])
        events = events_of(self._application, connection, projection, key)
        event = next((one.record for one in events), None)
        if isinstance(event, UnreadableRecord) and event.event == (*key, hold.version_needed):
            return BlockedItem(projection, key, hold, event, None, events)
        if isinstance(event, RecordedEvent) and event.version == hold.version_needed:
            in_force = interventions.in_force(connection, projection.name)
            payload = in_force.get((*key, event.version), payload_json(event.payload))
            return BlockedItem(projection, key, hold, event, payload, events)
        if hold.error is not None:
            raise VerdictError(
                f"version {hold.version_needed} of {key[0]} {key[1]!r} is not in the archive "
                "yet: see in `verdict status` how far event_archive is behind, then try again"
            )
        return BlockedItem(projection, key, hold, None, None, events)

    def _blocked(
        self, connection: Connection, address: str
    ) -> tuple[Projection, AggregateKey, BlockedAggregate]:
        projection, key = self._locked(connection, address)
        hold = blocked.load(connection, projection).get(key)
        if hold is None:
            raise NothingWaitsError(address)
        return projection, key, hold

    def _locked(self, connection: Connection, address: str) -> tuple[Projection, AggregateKey]:
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
        return projection, key

    def _apply_rest(self, address: str, done: str, after: BlockedAggregate | None) -> str:
        """Apply the events that wait behind; return the message."""
        while after is not None and after.error is None:
            with self._engine.begin() as connection:
                projection, key = self._locked(connection, address)
                after = blocked.load(connection, projection).get(key)
                events = events_of(self._application, connection, projection, key)
                if after is None or after.error is not None or not events:
                    break
                before, after = after, _apply(connection, projection, key, events)
                if after == before:
                    break  # a gap that no operator has decided about
        if after is None:
            return f"{address} {done}, and all that waited behind it"
        if after.error is None:
            return f"{address} {done}; now version {after.version_needed} is missing"
        return (
            f"{address} {done}; now it waits at version {after.version_needed}, and "
            f"{events_behind(after)} behind it: {after.error}"
        )


def _apply(
    connection: Connection, projection: Projection, key: AggregateKey, events: Sequence[Delivery]
) -> BlockedAggregate | None:
    try:
        return try_again(connection, projection, key, events, wall_clock())
    except CannotApplyError as error:
        raise VerdictError(str(error)) from error


def _record(
    connection: Connection,
    item: BlockedItem,
    kind: Kind,
    by: OperatorIdentity,
    payload: str | None,
    version: int | None = None,
) -> None:
    """Record what was done about the event that blocks, or about a later version."""
    needed = item.hold.version_needed
    before = item.payload if version in (None, needed) else None
    made = Intervention(kind, by.operator, by.reason, wall_clock(), before, payload)
    interventions.record(connection, item.projection, (*item.key, version or needed), made)

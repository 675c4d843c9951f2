"""Events that a projection cannot apply, or that are missing: their aggregates wait behind them.

What is done takes charge of the projection for a transaction, beside a service that runs or not: it
waits for the batch that is being applied, and the next batch finds what was done. The position does
not move, so that the service goes on; the log is never changed. A state that cannot be applied is
shown beside them; only a newer record of its key takes its place.
"""

from collections.abc import Iterator, Mapping, Sequence

from sqlalchemy import Connection, Engine

from verdict.adapters.sql.time_text import wall_clock
from verdict.errors import VerdictError
from verdict.model.application import Application
from verdict.model.recorded_event import RecordedEvent
from verdict.operations.repair import waiting_events
from verdict.operations.repair.blocked import (
    BlockedItem,
    Facts,
    MissingVersionError,
    NothingWaitsError,
    StateKeyError,
    behind,
    parse_payload,
    passed_over,
    still_fails,
)
from verdict.operations.repair.operator_identity import OperatorIdentity
from verdict.operations.repair.waiting_events import parts_of
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


class HeldAggregates:
    """Held aggregates by `PROJECTION/AGGREGATE_TYPE/AGGREGATE_ID`.

    Args:
        engine: Of the read side.
        declared: The projections, as functions of their version.
    """

    def __init__(
        self, application: Application, engine: Engine, declared: Mapping[str, AtVersion]
    ) -> None:
        self._application = application
        self._engine = engine
        self._declared = declared
        self._of_states = {name for name, at in declared.items() if not at(FIRST).waits_for_events}

    def listed(self) -> Iterator[Facts]:
        """Yield what aggregates are held at, without the events' payloads."""
        with snapshot(self._engine) as connection:
            yield from waiting_events.every_waiting(connection, self._of_states)

    def shown(self, address: str) -> Facts:
        """Return the event of one, as it was decided and as it was replaced, and all that was done.

        Raises:
            NothingWaitsError: There is none.
        """
        with snapshot(self._engine) as connection:
            return waiting_events.waiting_event(
                self._application, connection, address, self._of_states
            )

    def edit(self, address: str, document: bytes, by: OperatorIdentity) -> str:
        """Let the projection use another payload than the event's, from its next try on.

        Raises:
            NothingWaitsError: There is none.
            VerdictError: The payload does not fit the event's class, or it is a state; nothing is
                changed.
        """
        with self._engine.begin() as connection:
            item = self._item(connection, address)
            if item.event is None:
                raise MissingVersionError(address, item.hold)
            if isinstance(item.event, UnreadableRecord):
                raise VerdictError(f"{address} cannot be read: {item.event.error}")
            payload = parse_payload(item.event, document)
            _record(connection, item, "edit", by, payload)
            trial = connection.begin_nested()
            after = _tried(connection, item.projection, item.key, item.events)
            trial.rollback()
        if error := still_fails(item, after):
            return f"{address} is edited, and still cannot be applied: {error}"
        return f"{address} is edited: `verdict blocked retry {address}` applies it"

    def retry(self, address: str, by: OperatorIdentity) -> str:
        """Apply the event and those that wait behind it.

        Raises:
            NothingWaitsError: There is none.
            VerdictError: It cannot be applied, or is a state; it is held on.
        """
        with self._engine.begin() as connection:
            item = self._item(connection, address)
            if item.event is None and not item.events:
                raise MissingVersionError(address, item.hold)
            _record(connection, item, "replay", by, item.payload)
            after = _tried(connection, item.projection, item.key, item.events)
        if error := still_fails(item, after):
            raise VerdictError(
                f"{address} still cannot be applied, and {behind(item.hold)} wait behind it: "
                f"{error}; mend the projection, or `verdict blocked edit` or `skip` it"
            )
        return self._gone_on(address, "is applied", after)

    def skip(self, address: str, by: OperatorIdentity, all_behind: bool = False) -> str:
        """Pass the event over, or those that are missing, and apply those that wait behind it.

        Raises:
            NothingWaitsError: There is none.
            StateKeyError: Nothing waits behind it.
            MissingVersionError: Nothing that came behind it is archived yet.
        """
        with self._engine.begin() as connection:
            item = self._item(connection, address)
            versions = passed_over(address, item, all_behind)
            for version in versions:
                _record(connection, item, "evict", by, None, version)
            after = _tried(connection, item.projection, item.key, item.events)
        passed = "is" if len(versions) == 1 else f"and {len(versions) - 1} behind it are"
        return self._gone_on(address, f"{passed} passed over", after)

    def accept(self, address: str, by: OperatorIdentity) -> str:
        """Let the read model be told while the aggregate waits: as it was before that event.

        Raises:
            NothingWaitsError: There is none.
        """
        with self._engine.begin() as connection:
            projection, key = self._in_charge(connection, address)
            hold = blocked.load(connection, projection).get(key)
            if hold is None:
                raise NothingWaitsError(address)
            made = Intervention("accept", by.operator, by.reason, wall_clock(), None, None)
            interventions.record(connection, projection, (*key, hold.version_needed), made)
        return (
            f"{address} waits on; `verdict export` goes on with what it was "
            f"before version {hold.version_needed}"
        )

    def _item(self, connection: Connection, address: str) -> BlockedItem:
        """Return what is held at an address, in charge of its projection up to the commit."""
        projection, key = self._in_charge(connection, address)
        hold = blocked.load(connection, projection).get(key)
        if hold is None:
            raise NothingWaitsError(address)
        if not projection.waits_for_events:
            raise StateKeyError(address, projection, key[0])
        events = events_of(self._application, connection, projection, key)
        event = next((one.record for one in events), None)
        if isinstance(event, UnreadableRecord) and event.event == (*key, hold.version_needed):
            return BlockedItem(projection, key, hold, event, None, events)
        if not isinstance(event, RecordedEvent) or event.version != hold.version_needed:
            if hold.error is not None:
                raise VerdictError(
                    f"version {hold.version_needed} of {key[0]} {key[1]!r} is not in the archive "
                    "yet: see in `verdict status` how far event_archive is behind, then try again"
                )
            return BlockedItem(projection, key, hold, None, None, events)
        in_force = interventions.in_force(connection, projection.name)
        payload = in_force.get((*key, event.version), payload_json(event.payload))
        return BlockedItem(projection, key, hold, event, payload, events)

    def _in_charge(self, connection: Connection, address: str) -> tuple[Projection, AggregateKey]:
        name, *key = parts_of(address)
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
        return projection, (key[0], key[1])

    def _gone_on(self, address: str, done: str, after: BlockedAggregate | None) -> str:
        """Apply the rest of what waits; return what to say."""
        while after is not None and after.error is None:
            with self._engine.begin() as connection:
                projection, key = self._in_charge(connection, address)
                after = blocked.load(connection, projection).get(key)
                events = events_of(self._application, connection, projection, key)
                if after is None or after.error is not None or not events:
                    break
                before, after = after, _tried(connection, projection, key, events)
                if after == before:
                    break  # a gap that nobody has decided about
        if after is None:
            return f"{address} {done}, and all that waited behind it"
        if after.error is None:
            return f"{address} {done}; now version {after.version_needed} is missing"
        return (
            f"{address} {done}; now it waits at version {after.version_needed}, and "
            f"{behind(after)} behind it: {after.error}"
        )


def _tried(
    connection: Connection, projection: Projection, key: AggregateKey, events: Sequence[Delivery]
) -> BlockedAggregate | None:
    """Try events again, with errors for people.

    Raises:
        VerdictError: One cannot be read.
    """
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
    """Write down what was done about what the aggregate waits for, or about a later version."""
    needed = item.hold.version_needed
    before = item.payload if version in (None, needed) else None
    made = Intervention(kind, by.operator, by.reason, wall_clock(), before, payload)
    interventions.record(connection, item.projection, (*item.key, version or needed), made)

"""Events that a projection cannot apply, behind which their aggregates wait in that projection.

What is done takes charge of the projection for a transaction, beside a service that runs or not: it
waits for the batch that is being applied, and the next batch finds what was done. The position does
not move, so that the service goes on; the log is never changed. A state that cannot be applied is
shown beside them; only a newer record of its key takes its place.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import ValidationError
from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import DBAPIError

from compose.errors import VerdictError
from compose.parking import waiting_events
from compose.parking.kind import By, Facts, NothingParked
from compose.parking.waiting_events import parts_of
from compose.rebuilding.errors import SetOtherwise
from compose.sql.database import one_line, snapshot
from projections.engine import built, holding, intervention, versions
from projections.engine.applier import database_failed, wall_clock
from projections.engine.batch import Delivery, Unreadable
from projections.engine.built import BuiltOtherwise
from projections.engine.holding import AggregateKey, Hold
from projections.engine.intervention import Intervention, Kind
from projections.engine.projection import Projection, Unprojectable
from projections.engine.retrial import take_charge, try_again
from projections.engine.versions import Superseded
from projections.missing_events import events_of
from projections.registry import FIRST, AtVersion
from schemas.recorded_event import RecordedEvent
from schemas.wire.payload import payload_from, payload_json

MOST_BYTES = 1024 * 1024  # of a payload that somebody writes, as of those of a command's events


class _Item(NamedTuple):
    """A parked event.

    Args:
        projection: That cannot apply it, at the version that readers see.
        key: Of its aggregate.
        hold: Its aggregate's.
        event: As it lies in the log.
        payload: What is in force in its place, as JSON; None passes it over.
        events: The event and those behind it, as many as the archive gives at a time.
    """

    projection: Projection
    key: AggregateKey
    hold: Hold
    event: RecordedEvent
    payload: str | None
    events: Sequence[Delivery]


class IsState(VerdictError):
    """It is a state that cannot be applied, and nothing here can mend it."""

    def __init__(self, address: str, projection: Projection, topic: str) -> None:
        super().__init__(
            f"{address} is a state, which only the next record of its key supersedes: write the "
            f"whole state to {topic} again, or no value if there is none; when it is the code that "
            f"was mended, `verdict projection rebuild {projection.name}` reads it again"
        )


class ParkedEvents:
    """Parked events by `PROJECTION/AGGREGATE_TYPE/AGGREGATE_ID`.

    Args:
        engine: Of the read side.
        declared: The projections, as functions of their version.
    """

    def __init__(self, engine: Engine, declared: Mapping[str, AtVersion]) -> None:
        self._engine = engine
        self._declared = declared
        self._of_states = {name for name, at in declared.items() if not at(FIRST).waits_for_events}

    def knows(self, address: str) -> bool:
        """Tell whether the address begins with the name of a projection."""
        return address.partition("/")[0] in self._declared

    def listed(self) -> Iterator[Facts]:
        """Yield the parked events by projection and aggregate, without their payloads."""
        with snapshot(self._engine) as connection:
            yield from waiting_events.every(connection, self._of_states)

    def shown(self, address: str) -> Facts:
        """Return a parked event, as it was decided and as it was replaced, and all that was done.

        Raises:
            NothingParked: There is none.
        """
        with snapshot(self._engine) as connection:
            return waiting_events.one(connection, address, self._of_states)

    def edit(self, address: str, document: bytes, by: By) -> str:
        """Let the projection use another payload than the event's, from its next try on.

        Raises:
            NothingParked: There is none.
            VerdictError: The payload does not fit the event's class, or the database refuses what
                comes of it, or it is a state; nothing is changed.
        """
        with self._engine.begin() as connection:
            item = self._item(connection, address)
            payload = _fitting(item.event, document)
            _record(connection, item, "edit", by, payload)
            trial = connection.begin_nested()
            after = _tried(connection, item.projection, item.key, item.events)
            trial.rollback()
        if error := _still_fails(item, after):
            return f"{address} is edited, and still cannot be applied: {error}"
        return f"{address} is edited: `verdict letters replay {address}` applies it"

    def replay(self, address: str, by: By) -> str:
        """Apply the event and those that wait behind it.

        Raises:
            NothingParked: There is none.
            VerdictError: It cannot be applied, or is a state; it stays parked.
        """
        with self._engine.begin() as connection:
            item = self._item(connection, address)
            _record(connection, item, "replay", by, item.payload)
            after = _tried(connection, item.projection, item.key, item.events)
        if error := _still_fails(item, after):
            raise VerdictError(
                f"{address} still cannot be applied, and {_behind(item.hold)} wait behind it: "
                f"{error}; mend the projection, or `verdict letters edit` or `evict` it"
            )
        return self._gone_on(address, "is applied", after)

    def evict(self, address: str, by: By) -> str:
        """Pass the event over, and apply those that wait behind it.

        Raises:
            NothingParked: There is none.
            IsState: Nothing waits behind it.
        """
        with self._engine.begin() as connection:
            item = self._item(connection, address)
            _record(connection, item, "evict", by, None)
            after = _tried(connection, item.projection, item.key, item.events)
        return self._gone_on(address, "is passed over", after)

    def _item(self, connection: Connection, address: str) -> _Item:
        """Return what is parked at an address, in charge of its projection up to the commit."""
        projection, key = self._in_charge(connection, address)
        hold = holding.load(connection, projection).get(key)
        if hold is None or hold.error is None:
            raise NothingParked(address)
        if not projection.waits_for_events:
            raise IsState(address, projection, key[0])
        events = events_of(connection, projection, key)
        if not events:
            raise VerdictError(
                f"version {hold.version_needed} of {key[0]} {key[1]!r} is not in the archive yet: "
                "see in `verdict status` how far event_archive is behind, then try again"
            )
        event = events[0].record
        if not isinstance(event, RecordedEvent):
            assert isinstance(event, Unreadable)
            raise VerdictError(f"{address} cannot be read: {event.error}")
        in_force = intervention.in_force(connection, projection.name)
        payload = in_force.get((*key, event.version), payload_json(event.payload))
        return _Item(projection, key, hold, event, payload, events)

    def _in_charge(self, connection: Connection, address: str) -> tuple[Projection, AggregateKey]:
        name, *key = parts_of(address)
        table = versions.table
        live = select(table.c.version).where(table.c.projection == name)
        version = connection.execute(live).scalar()
        if version is None:
            raise NothingParked(address)
        projection = self._declared[name](version)
        try:
            take_charge(connection, projection)
            built.check(connection, projection)
        except Superseded as error:
            raise VerdictError(f"{error}: try again") from error
        except BuiltOtherwise as error:
            raise SetOtherwise(projection, error.found) from error
        return projection, (key[0], key[1])

    def _gone_on(self, address: str, done: str, after: Hold | None) -> str:
        """Apply the rest of what waits; return what to say."""
        while after is not None and after.error is None:
            with self._engine.begin() as connection:
                projection, key = self._in_charge(connection, address)
                after = holding.load(connection, projection).get(key)
                events = events_of(connection, projection, key)
                if after is None or after.error is not None or not events:
                    break
                after = _tried(connection, projection, key, events)
        if after is None:
            return f"{address} {done}, and all that waited behind it"
        if after.error is None:
            return f"{address} {done}; version {after.version_needed} is not in the archive yet"
        return (
            f"{address} {done}; now it waits at version {after.version_needed}, and "
            f"{_behind(after)} behind it: {after.error}"
        )


def _tried(
    connection: Connection, projection: Projection, key: AggregateKey, events: Sequence[Delivery]
) -> Hold | None:
    """Try events again, with errors for people.

    Raises:
        VerdictError: One cannot be read, or the database refuses what comes of it.
        OperationalError, InterfaceError, InternalError: The database failed.
    """
    try:
        return try_again(connection, projection, key, events, wall_clock())
    except Unprojectable as error:
        raise VerdictError(str(error)) from error
    except DBAPIError as error:
        if database_failed(error):
            raise
        raise VerdictError(
            f"the database refuses what comes of it: {one_line(error.orig)}"
        ) from error


def _record(connection: Connection, item: _Item, kind: Kind, by: By, payload: str | None) -> None:
    made = Intervention(kind, by.who, by.why, wall_clock(), item.payload, payload)
    intervention.record(connection, item.projection, item.event, made)


def _still_fails(item: _Item, after: Hold | None) -> str | None:
    """Return why the event itself cannot be applied, None when it was."""
    waits = after is not None and after.version_needed == item.event.version
    return after.error if waits and after is not None else None


def _behind(hold: Hold) -> int:
    return hold.version_seen - hold.version_needed


def _fitting(event: RecordedEvent, document: bytes) -> str:
    """Return a payload that fits the event's class, as JSON.

    Raises:
        VerdictError: It does not.
    """
    about = f"no payload for {type(event.payload).__name__}"
    if len(document) > MOST_BYTES:
        raise VerdictError(f"{about}: {len(document)} bytes, {MOST_BYTES} are allowed")
    try:
        return payload_json(payload_from(type(event.payload), document))
    except ValidationError as error:
        problems = (
            f"{'.'.join(map(str, problem['loc'])) or 'it'}: {problem['msg']}"
            for problem in error.errors(include_url=False)
        )
        raise VerdictError(f"{about}: {'; '.join(problems)}") from error
    except ValueError as error:
        raise VerdictError(f"{about}: {error}") from error

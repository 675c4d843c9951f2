"""`event_archive`: every event as its topic has it, for "what happened, in which order?".

It takes what comes, also after a gap in an aggregate's versions: others fill their gaps from it.
"""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from sqlalchemy import (
    BigInteger,
    Connection,
    Index,
    Integer,
    MetaData,
    Table,
    UniqueConstraint,
    cast,
    select,
    update,
)

from verdict.adapters.sql import sequence
from verdict.adapters.sql.bulk import BulkRows
from verdict.adapters.sql.column_types import JsonType
from verdict.adapters.sql.statements import add_new, is_any_of
from verdict.model.application import Application
from verdict.model.personal import personal_paths
from verdict.model.source import Source
from verdict.read_side.apply.batch import Delivery
from verdict.read_side.projections.builtin.rows import ArchivedEvent, archived_event
from verdict.read_side.projections.documented_view import (
    Paths,
    View,
    described,
    masked,
    unless_allowed,
)
from verdict.read_side.projections.projection import Applied, CannotApplyError, Projection
from verdict.read_side.projections.stored_rows import columns_of_record
from verdict.read_side.tables import skips
from verdict.read_side.tables.columns import primary
from verdict.wire.skip_record import NOTHING_PASSED_OVER
from verdict.wire.topics import Topics

# SQLite keeps a table in the order of an INTEGER key, and needs no index for it
PositionType = BigInteger().with_variant(Integer, "sqlite")

COLUMNS = ("global_position", *ArchivedEvent._fields)
PLACE = attrgetter("topic", "partition", "offset")

Found = dict[tuple[str, str, int], ArchivedEvent]
"""Events by aggregate type, aggregate id and version."""


class EventArchive(Projection):
    """The projection; `global_position` counts from 1 without a gap and shows up in order."""

    @property
    def tables(self) -> Sequence[Table]:
        """None: positions follow the order in which events came, and cannot be built again."""
        return ()

    @property
    def sequences(self) -> Sequence[str]:
        """The one that positions are taken from."""
        return (self.table.name,)

    def topics(self, topics: Topics) -> Sequence[str]:
        return [topics.events(name) for name in topics.application.aggregate_types]

    def apply(self, connection: Connection, deliveries: Sequence[Delivery]) -> Applied:
        """Append the new events: by time, those of a partition in the order of their offsets.

        An event whose version is there with other bytes takes the place of that one if operators
        skipped that one; the position stays.
        """
        found: Found = {}
        for event in in_time([archived_event(one) for one in deliveries]):
            first = found.setdefault(event[:3], event)
            if first is not event:
                _require_same_event(event, _Known(first.hash, *PLACE(first)))
        if not self._append(connection, found):
            found = self._new(connection, found)
            self._append(connection, found)
        return Applied(applied=len(found), skipped=len(deliveries) - len(found))

    def _append(self, connection: Connection, found: Found) -> bool:
        if not found:
            return True
        attempt = connection.begin_nested()
        numbers = sequence.take_numbers(connection, self.table.name, len(found))
        rows = [(number, *event) for number, event in zip(numbers, found.values(), strict=True)]
        if add_new(connection, self.table, BulkRows(COLUMNS, rows)) == len(rows):
            attempt.commit()
            return True
        attempt.rollback()
        return False

    def _new(self, connection: Connection, found: Found) -> Found:
        """Return what is not there yet; that something is there is rare."""
        columns = self.table.c
        aggregate_ids = {aggregate_id for _, aggregate_id, _ in found}
        rows = connection.execute(
            select(
                columns.aggregate_type,
                columns.aggregate_id,
                columns.version,
                *(columns[name] for name in _Known._fields),
            ).where(
                columns.aggregate_type.in_({kind for kind, *_ in found}),  # the index needs it
                is_any_of(connection, columns.aggregate_id, aggregate_ids),
            )
        )
        there = {(kind, name, version): _Known(*known) for kind, name, version, *known in rows}
        others = [key for key in found.keys() & there.keys() if found[key].hash != there[key].hash]
        passed_over = skips.passed_over(connection) if others else NOTHING_PASSED_OVER
        for key in others:
            if not passed_over.holds(*there[key][1:]):
                _require_same_event(found[key], there[key])
            self._replace(connection, found[key])
        return {key: one for key, one in found.items() if key not in there}

    def _replace(self, connection: Connection, event: ArchivedEvent) -> None:
        columns = self.table.c
        same = [columns[name] == value for name, value in zip(COLUMNS[1:4], event[:3], strict=True)]
        connection.execute(update(self.table).where(*same).values(event._asdict()))


class _Known(NamedTuple):
    hash: str
    topic: str
    partition: int
    offset: int


def in_time(events: Sequence[ArchivedEvent]) -> Sequence[ArchivedEvent]:
    """Return events by time, those of a partition in the order of their offsets, as they came."""
    reached: dict[tuple[str, int], int] = {}
    times = []
    for event in events:
        place = event.topic, event.partition
        time = reached[place] = max(reached.get(place, 0), event.decided_at)
        times.append(time)
    return [events[number] for number in sorted(range(len(events)), key=times.__getitem__)]


def _require_same_event(event: ArchivedEvent, known: _Known) -> None:
    if event.hash != known.hash:
        first = Source(*known[1:])
        raise CannotApplyError(
            Delivery(event.topic, event.partition, event.offset, None),
            f"version {event.version} of {event.aggregate_type} {event.aggregate_id!r} came before "
            f"with other bytes, at {first} (SHA-256 {known.hash}): find out which of the two "
            "verdict wrote, by the hashes in responses and later events; if it is this one, stop "
            f"the service and run `verdict skip {first} --reason …`",
        )


def event_archive(application: Application, version: int = 1) -> EventArchive:
    table = archive_table(MetaData(), version)
    views = {"event_archive": _view(application, table)}
    return EventArchive(name="event_archive", version=version, table=table, views=views)


def archive_table(metadata: MetaData, version: int = 1) -> Table:
    """Return the table; it is never built again, so there is no other version of it yet.

    `event_id` has no index: its values are random, so each event would change a page of its own.
    """
    table = Table(
        f"event_archive_v{version}",
        metadata,
        primary("global_position", PositionType, "Counts all events from 1, without gaps."),
        *columns_of_record(ArchivedEvent),
        UniqueConstraint("aggregate_type", "aggregate_id", "version"),
        UniqueConstraint("topic", "partition", "offset"),
    )
    Index(f"{table.name}_time", table.c.decided_at)
    Index(f"{table.name}_correlation", table.c.correlation_id)
    return table


def _view(application: Application, table: Table) -> View:
    """Return what readers see: all of it, but for what is personal unless they may see that."""
    columns = table.c
    payload = masked(columns.payload, columns.event_type, personal(application), columns.value)
    shown = {
        "payload": cast(payload, JsonType),
        "metadata": cast(columns.metadata, JsonType),
        "value": unless_allowed(columns.value, columns.value),
    }
    selected = select(*(shown[c.name].label(c.name) if c.name in shown else c for c in columns))
    comments = {name: columns[name].comment or "" for name in shown}
    return described(selected, "Every event, as it is in Kafka.", **comments)


def personal(application: Application) -> Mapping[str, Paths]:
    """Return the paths of personal data in events, by the type of the event."""
    every = [one.event_types for one in application.aggregates]
    names = sorted({name for types in every for name in types})
    return {
        name: sorted(
            {path for types in every if name in types for path in personal_paths(types[name])}
        )
        for name in names
    }

"""`event_archive`: every event as its topic has it, for "what happened, in which order?".

It takes what comes: a gap in an aggregate's versions is not its business, and closing one is what
others need it for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from sqlalchemy import (
    BigInteger,
    Column,
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
from verdict.read_side.projections.builtin.rows import ArchivedEvent, Identity, archived_event
from verdict.read_side.projections.documented_view import (
    Paths,
    View,
    described,
    masked,
    unless_allowed,
)
from verdict.read_side.projections.projection import Applied, CannotApplyError
from verdict.read_side.projections.stored_rows import columns_of_record
from verdict.read_side.tables import skips
from verdict.wire.skip_record import NOTHING_PASSED_OVER
from verdict.wire.topics import Topics

# SQLite keeps a table in the order of an INTEGER key, and needs no index for it
PositionType = BigInteger().with_variant(Integer, "sqlite")

COLUMNS = ("global_position", *ArchivedEvent._fields)
PLACE = attrgetter("topic", "partition", "offset")

Found = dict[Identity, ArchivedEvent]


@dataclass(frozen=True, kw_only=True)
class EventArchive:
    """The projection; `global_position` counts from 1 without a gap and shows up in order."""

    table: Table
    views: Mapping[str, View]
    version: int
    name: str = "event_archive"
    settings: str = ""

    feed = None
    waits_for_events = False  # it holds nothing

    @property
    def tables(self) -> Sequence[Table]:
        """None: positions follow the order in which events came, and cannot be built again."""
        return ()

    @property
    def sequences(self) -> Sequence[str]:
        """The one that positions are taken from."""
        return (self.table.name,)

    def topics(self, topics: Topics) -> Sequence[str]:
        """Return the events topics of all aggregates."""
        return [
            topics.events(aggregate_type) for aggregate_type in topics.application.aggregate_types
        ]

    def apply(self, connection: Connection, deliveries: Sequence[Delivery]) -> Applied:
        """Append the events that are not there yet.

        They get their positions in the order of their times, each partition's in the order of its
        offsets.

        An event whose version is there with other bytes takes the place of that one if people
        decided to pass that one over; it keeps its position.
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
        """Return what is not there yet; it is rare enough that one is to look for it first."""
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
    """Return events by time, but none before an earlier one of its partition.

    Args:
        events: Those of a partition are in the order of their offsets.
    """
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
    """Return the projection."""
    table = archive_table(MetaData(), version)
    return EventArchive(
        table=table, views={"event_archive": _view(application, table)}, version=version
    )


def archive_table(metadata: MetaData, version: int = 1) -> Table:
    """Return the table; it is never built again, so there is no other version of it yet.

    `event_id` has no index: its values are random, so each event would change a page of its own.
    """
    table = Table(
        f"event_archive_v{version}",
        metadata,
        Column("global_position", PositionType, primary_key=True, autoincrement=False),
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
    selected = select(*(shown.get(c.name, c).label(c.name) for c in columns))
    return described(
        selected,
        "Every event, as it is in Kafka.",
        global_position="Counts all events from 1 without gaps; they show up in this order.",
        aggregate_type="Type of the aggregate that it happened to.",
        aggregate_id="Id of the aggregate.",
        version="Counts the aggregate's events from 1.",
        event_id="Id of the event. It has no index: select by another column, too.",
        event_type="Type of the event.",
        payload="What happened, as JSON; what is personal is null unless you may see it.",
        metadata="What was known when it was decided, as JSON.",
        value="The bytes of the record; none unless you may see what is personal.",
        hash="SHA-256 of those bytes.",
        topic="Topic of the record.",
        partition="Partition of the record.",
        offset="Offset of the record.",
        decided_at="When it was decided.",
        correlation_id="Id of the flow that it belongs to.",
    )


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

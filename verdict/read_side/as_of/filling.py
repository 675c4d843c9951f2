"""The tables of a projection as of a position, in a database of their own."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Engine

from verdict.adapters.sql.readers.reader import Reader
from verdict.errors import UnreachableError, VerdictError
from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import Delivery, batches
from verdict.read_side.apply.overrides import amended
from verdict.read_side.as_of.errors import IncompleteExportError
from verdict.read_side.as_of.moment import ResolvedPosition
from verdict.read_side.live.decoding import RecordDecoder
from verdict.read_side.projections.projection import Projection
from verdict.read_side.schema import creation
from verdict.read_side.tables import blocked
from verdict.read_side.tables.blocked import AggregateKey, BlockedAggregate
from verdict.read_side.tables.interventions import Amendments, EventKey
from verdict.streaming.event_log.event_log import EventLog
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.topics import Topics

IN_FORCE = """\
SELECT aggregate_type, aggregate_id, event_version, after FROM projection_intervention
WHERE projection = :projection AND kind IN ('edit', 'evict') ORDER BY seq"""
QUARANTINED = (
    "SELECT topic, aggregate_type, aggregate_id, version, error FROM aggregate_quarantined"
)
ACCEPTED = """\
SELECT aggregate_type, aggregate_id, event_version FROM projection_intervention
WHERE projection = :projection AND kind = 'accept'"""


@dataclass(frozen=True, slots=True)
class AsOfRecords:
    """All records of topics, from the archive where Kafka has dropped them.

    Args:
        log: Of events, and of what else lies on topics.
        topics: Of the deployment.
        archive: Gives the read side, when it is needed.
    """

    log: EventLog
    topics: Topics
    archive: Callable[[], AbstractContextManager[Reader]]

    def in_force(self, projection: Projection) -> Amendments:
        """Return what people decided about events that the projection could not apply.

        Without a read side nothing is known of it; such an event is refused then, as any that
        cannot be applied.
        """
        try:
            with self.archive() as reader:
                rows = reader.select(IN_FORCE, {"projection": projection.name}).rows
                return {(kind, name, version): after for kind, name, version, after in rows}
        except UnreachableError:
            return {}

    def quarantined(self, projection: Projection) -> dict[AggregateKey, BlockedAggregate]:
        """Return the aggregates with a damaged history, of those that a projection follows."""
        followed = projection.topics(self.topics)
        try:
            with self.archive() as reader:
                rows = [*reader.select(QUARANTINED).rows]  # they are gone with the reader
        except UnreachableError:
            return {}
        return {
            (kind, name): BlockedAggregate(version, version, 0, error)
            for topic, kind, name, version, error in rows
            if topic.replace(".responses", ".events") in followed
        }

    def accepted(self, projection: Projection) -> set[EventKey]:
        """Return for which events people accepted that the projection is told without them."""
        try:
            with self.archive() as reader:
                rows = reader.select(ACCEPTED, {"projection": projection.name}).rows
                return {(kind, name, version) for kind, name, version in rows}
        except UnreachableError:
            return set()

    def before(self, ends: Mapping[TopicPartition, int]) -> Iterator[Delivery]:
        """Yield what lies before `ends`, each partition's records in their order.

        Raises:
            EventsMissingError, HashMismatchError, UnreachableError: As `EventLog.read`.
        """
        decoder = RecordDecoder(self.topics)
        return (decoder.delivery(*record) for record in self.log.read({}, ends))


def fill(
    engine: Engine, projection: Projection, records: AsOfRecords, resolved: ResolvedPosition
) -> None:
    """Make the tables and apply what lies before the position, with the functions of the live ones.

    Raises:
        IncompleteExportError: An aggregate waits, and nobody has accepted that: its events have a
            gap, or one cannot be applied, or its newest state cannot.
        EventsMissingError, VerdictError: As `fold`.
    """
    wanted = partial(_is_in, resolved.until)
    fold(engine, projection, records, resolved.ends, wanted)
    _require_nothing_blocked(engine, projection, records)


def fold(
    engine: Engine,
    projection: Projection,
    records: AsOfRecords,
    ends: Mapping[TopicPartition, int],
    wanted: Callable[[Delivery], bool],
) -> None:
    """Make the tables and apply what lies before `ends`; what waits there is held, as live.

    Raises:
        EventsMissingError: Neither Kafka nor the archive has all of it.
        VerdictError: A record cannot be read or applied.
    """
    with engine.begin() as connection:
        creation.create(connection, [projection])
    applier = Applier(engine, projection, records.topics, live=False)
    applied = amended(filter(wanted, records.before(ends)), records.in_force(projection))
    for batch in batches(applied, {place: OffsetRange(0, end) for place, end in ends.items()}):
        applier.apply(batch)
        if applier.failure is not None:
            raise VerdictError(
                f"{projection.name} cannot be told: {applier.failure}; see "
                f"`verdict projection verify {projection.name}` and `verdict status`"
            )


def _is_in(until: int | None, delivery: Delivery) -> bool:
    """Tell whether an event counts; where one does not, none of its aggregate behind it does."""
    event = delivery.record
    return until is None or not isinstance(event, RecordedEvent) or event.decided_at <= until


def _require_nothing_blocked(engine: Engine, projection: Projection, records: AsOfRecords) -> None:
    accepted = records.accepted(projection)
    with engine.connect() as connection:
        held = {**records.quarantined(projection), **blocked.load(connection, projection)}
    waiting = {key: held[key] for key in sorted(held)}
    for key, hold in held.items():
        if (*key, hold.version_needed) in accepted:
            del waiting[key]
    if waiting:
        raise IncompleteExportError(projection.name, waiting, projection.waits_for_events)

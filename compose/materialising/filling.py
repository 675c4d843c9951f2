"""The tables of a projection as of a position, in a database of their own."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from sqlalchemy import Engine, func, select

from compose.errors import Unreachable, VerdictError
from compose.kafka.log import KafkaLog
from compose.kafka.log import Span as Offsets
from compose.materialising.as_of import Resolved
from compose.materialising.errors import Incomplete
from compose.rebuilding.whole_log import see_that_it_is_archived
from compose.sql.archive import Archive
from compose.sql.reader import Reader
from projections.engine import creation, holding
from projections.engine.amended import amended
from projections.engine.applier import Applier
from projections.engine.batch import Batch, Delivery, Partition, Span
from projections.engine.intervention import Amendments
from projections.engine.position import Positions
from projections.engine.projection import Projection
from projections.stream import Decoder
from schemas.recorded_event import RecordedEvent
from schemas.topics import Topics

IN_FORCE = """\
SELECT aggregate_type, aggregate_id, event_version, after FROM projection_intervention
WHERE projection = :projection AND kind <> 'replay' ORDER BY seq"""
ROWS = 5_000  # applied in one transaction, or less when they are large
BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True)
class Records:
    """All records of topics, from the archive where Kafka has dropped them.

    Args:
        log: Of Kafka.
        topics: Of the deployment.
        archive: Gives the archive, when it is needed.
    """

    log: KafkaLog
    topics: Topics
    archive: Callable[[], AbstractContextManager[Reader]]

    def dropped(self, projection: Projection, ends: Mapping[Partition, int]) -> Positions:
        """Return, of each partition that Kafka has cut, up to where the archive is needed.

        Raises:
            RecordsGone: It does not have that.
        """
        firsts = {place: min(self.log.bounds(*place)[0], end) for place, end in ends.items()}
        dropped = {place: first for place, first in firsts.items() if first > 0}
        if dropped:
            with self.archive() as reader:
                see_that_it_is_archived(projection, dropped, Archive(reader))
        return dropped

    def in_force(self, projection: Projection) -> Amendments:
        """Return what people decided about events that the projection could not apply.

        Without a read side nothing is known of it; such an event is refused then, as any that
        cannot be applied.
        """
        try:
            with self.archive() as reader:
                rows = reader.select(IN_FORCE, {"projection": projection.name}).rows
                return {(kind, name, version): after for kind, name, version, after in rows}
        except Unreachable:
            return {}

    def before(
        self, ends: Mapping[Partition, int], dropped: Mapping[Partition, int]
    ) -> Iterator[Delivery]:
        """Yield what lies before `ends`, each partition's records in their order.

        Raises:
            RecordsDropped: Kafka dropped more meanwhile; who begins again finds it archived.
        """
        decoder = Decoder(self.topics)
        if dropped:
            with self.archive() as reader:
                for place, first in dropped.items():
                    for record in Archive(reader).before(*place, first):
                        yield decoder.delivery(*place, record.offset, record.key, record.value)
        wanted = [Offsets(*place, dropped.get(place, 0), end) for place, end in ends.items()]
        for m in self.log.read(wanted):
            yield decoder.delivery(
                str(m.topic()), m.partition() or 0, m.offset() or 0, m.key(), m.value()
            )


def fill(engine: Engine, projection: Projection, records: Records, resolved: Resolved) -> None:
    """Make the tables and apply what lies before the position, with the functions of the live ones.

    Args:
        engine: Of an empty database.
        projection: Whose tables.
        records: All there are.
        resolved: The position.

    Raises:
        RecordsGone: Neither Kafka nor the archive has the beginning.
        RecordsDropped: Kafka dropped what was to be read next.
        Incomplete: An aggregate's events have a gap, or a key's newest state cannot be applied.
        VerdictError: A record cannot be read or applied.
    """
    dropped = records.dropped(projection, resolved.ends)
    with engine.begin() as connection:
        creation.create(connection, [projection])
    applier = Applier(engine, projection, records.topics, live=False)
    until_then = (
        delivery
        for delivery in records.before(resolved.ends, dropped)
        if not _is_later(delivery, resolved.until)
    )
    wanted = amended(until_then, records.in_force(projection))
    for batch in _batches(wanted, resolved.ends):
        applier.apply(batch)
        if applier.failure is not None:
            raise VerdictError(
                f"{projection.name} cannot be told: {applier.failure}; see "
                f"`verdict projection verify {projection.name}` and `verdict status`"
            )
    _see_that_nothing_is_held(engine, projection)


def _is_later(delivery: Delivery, until: int | None) -> bool:
    """Tell whether an event is left out; none of its aggregate that follows it is let in then."""
    event = delivery.record
    return until is not None and isinstance(event, RecordedEvent) and event.decided_at > until


def _batches(records: Iterable[Delivery], ends: Mapping[Partition, int]) -> Iterator[Batch]:
    """Yield batches that follow each other, and together go from the beginning to `ends`."""
    reached, some, size = dict.fromkeys(ends, 0), list[Delivery](), 0
    for delivery in records:
        some.append(delivery)
        size += len(delivery.value or b"")
        if len(some) == ROWS or size >= BYTES:
            then = reached | {Partition(d.topic, d.partition): d.offset + 1 for d in some}
            yield Batch(some, {place: Span(reached[place], then[place]) for place in ends})
            reached, some, size = then, [], 0
    yield Batch(some, {place: Span(reached[place], end) for place, end in ends.items()})


def _see_that_nothing_is_held(engine: Engine, projection: Projection) -> None:
    table = holding.table
    first = select(table, func.count().over().label("held")).limit(1)
    with engine.connect() as connection:
        row = connection.execute(first).mappings().first()
    if row is not None:
        name = f"{row['aggregate_type']} {row['aggregate_id']!r}"
        of_events = projection.waits_for_events
        lacks = f"{name} needs version {row['version_needed']}"
        raise Incomplete(projection.name, row["held"], lacks, row["error"], of_events)

"""The archive of events, as readers may ask it."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from aggregates.recording import StoredEvent
from compose.sql.reader import Reader
from schemas.source import Source
from schemas.wire.records import decode_event

HISTORY = """\
SELECT topic, "partition", "offset", value FROM event_archive
WHERE aggregate_type = :aggregate_type AND aggregate_id = :aggregate_id ORDER BY version"""

# one statement, so that what is archived later is neither counted nor passed over
STANDING = """\
SELECT "partition", min(next_offset), (SELECT max(global_position) FROM event_archive)
FROM projection_position
WHERE projection = 'event_archive' AND topic = :topic GROUP BY "partition\""""

PAGE = 1000  # events that are asked for at a time: a query on PostgreSQL may take a minute

EVERY = """\
SELECT topic, "partition", "offset", value FROM event_archive
WHERE aggregate_type = :aggregate_type AND (aggregate_id, version) > (:aggregate_id, :version)
AND global_position <= :last
ORDER BY aggregate_id, version LIMIT :page"""

LAID = """\
SELECT "offset", aggregate_id, value FROM event_archive
WHERE topic = :topic AND "partition" = :partition AND "offset" >= :start AND "offset" < :end
ORDER BY "offset" LIMIT :page"""


class Standing(NamedTuple):
    """How far the archive has come with one topic.

    `reached` has, by partition, the offset up to which all is archived, in the events up to the
    global position `last`.
    """

    reached: Mapping[int, int]
    last: int


class Laid(NamedTuple):
    """A record as it lies in a partition of Kafka, or lay."""

    offset: int
    key: bytes
    value: bytes


class Placed(NamedTuple):
    """An event, and where it lies in Kafka, or lay."""

    place: Source
    stored: StoredEvent


class Archive:
    """Asks the view `event_archive`."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def reached(self, topic: str) -> dict[int, int]:
        """Return, by partition of an events topic, the offset up to which all is archived."""
        return dict(self.standing(topic).reached)

    def history(self, aggregate_type: str, aggregate_id: str) -> Iterator[Placed]:
        """Yield an aggregate's events in the order of their versions, as they are asked for."""
        asked = {"aggregate_type": aggregate_type, "aggregate_id": aggregate_id}
        for row in self._reader.select(HISTORY, asked).rows:
            yield _placed(aggregate_type, *row)

    def standing(self, topic: str) -> Standing:
        """Return how far the events of a topic are archived."""
        rows = [*self._reader.select(STANDING, {"topic": topic}).rows]
        reached = {partition: offset for partition, offset, _ in rows}
        return Standing(reached, max((last or 0 for *_, last in rows), default=0))

    def every(self, aggregate_type: str, last: int) -> Iterator[Placed]:
        """Yield all events of a type, by aggregate id and version, as they are asked for.

        Args:
            aggregate_type: Of the aggregates; their ids are in the order of their code points.
            last: The greatest global position that counts.
        """
        after: tuple[str, int] = "", 0
        while True:
            asked = {"aggregate_id": after[0], "version": after[1], "last": last, "page": PAGE}
            rows = [*self._reader.select(EVERY, asked | {"aggregate_type": aggregate_type}).rows]
            for row in rows:
                placed = _placed(aggregate_type, *row)
                yield placed
            if len(rows) < PAGE:
                return
            after = placed.stored.event.aggregate_id, placed.stored.event.version

    def before(self, topic: str, partition: int, end: int) -> Iterator[Laid]:
        """Yield the records of a partition before an offset, in their order, as asked for."""
        place = {"topic": topic, "partition": partition, "end": end, "page": PAGE}
        start = 0
        while rows := [*self._reader.select(LAID, {**place, "start": start}).rows]:
            for offset, aggregate_id, value in rows:
                yield Laid(offset, aggregate_id.encode(), bytes(value))
            start = rows[-1][0] + 1


def _placed(aggregate_type: str, topic: str, partition: int, offset: int, value: bytes) -> Placed:
    stored = StoredEvent(decode_event(aggregate_type, value), value)
    return Placed(Source(topic, partition, offset), stored)

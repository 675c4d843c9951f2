"""The archive of events, as readers may ask it."""

from collections.abc import Iterator
from typing import NamedTuple

from aggregates.recording import StoredEvent
from compose.reader import Reader
from schemas.source import Source
from schemas.wire.records import decode_event

REACHED = """\
SELECT "partition", min(next_offset) FROM projection_position
WHERE projection = 'event_archive' AND topic = :topic GROUP BY "partition\""""

HISTORY = """\
SELECT topic, "partition", "offset", value FROM event_archive
WHERE aggregate_type = :aggregate_type AND aggregate_id = :aggregate_id ORDER BY version"""


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
        return dict(self._reader.select(REACHED, {"topic": topic}).rows)

    def history(self, aggregate_type: str, aggregate_id: str) -> Iterator[Placed]:
        """Yield an aggregate's events in the order of their versions, as they are asked for."""
        asked = {"aggregate_type": aggregate_type, "aggregate_id": aggregate_id}
        for topic, partition, offset, value in self._reader.select(HISTORY, asked).rows:
            stored = StoredEvent(decode_event(aggregate_type, value), value)
            yield Placed(Source(topic, partition, offset), stored)

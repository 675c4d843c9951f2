"""Topics of one test on the shared broker, and the read side behind them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.application import APPLICATION, encode_event
from tests.kit.deployment import KafkaDeployment, await_true
from tests.kit.log import EventLog
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.sql.readers.reader import Reader
from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.catalog import projections
from verdict.read_side.live.live_projections import LiveProjections
from verdict.read_side.projections.projection import Projection
from verdict.read_side.schema.system_views import readable
from verdict.settings.database_address import SUPPORT
from verdict.wire.partitions import TopicPartition
from verdict.wire.topics import Topics

SOME = {  # all that follow positions, and one of each other kind: every one costs each batch time
    "client_overview",
    "event_archive",
    "outcome",
    "position_state",
    "us_holder",
    "us_holder_from_state",
}


class Deployment(KafkaDeployment):
    """Topics of one test, what is written to them, and the read side behind them."""

    def __init__(self, servers: str, prefix: str, directory: Path, url: str) -> None:
        super().__init__(servers, Topics(APPLICATION, prefix=prefix, partitions=2))
        self.url = url
        self.directory = directory
        self.log = EventLog(partitions=2)
        self.create_own(*{t for p in some_projections() for t in p.topics(self.topics)})

    def create(self, topic: str) -> None:
        """Create one that is not read here."""
        self.create_own(topic)

    def write(self, *records: tuple[str, str, bytes | None], commit: bool = True) -> None:
        """Write (topic, key, value) in one transaction."""
        placed = [(topic, key, value, self._partition(key)) for topic, key, value in records]
        self.transact(placed, commit=commit)

    def _partition(self, key: str) -> int:
        return self.log.place_of(key).partition

    def happens(self, position_id: str, *payloads: object) -> list[tuple[str, str, bytes]]:
        """Return the records of these events of a position."""
        before = len(self.log.deliveries)
        self.log.add(position_id, *payloads)  # type: ignore[arg-type]
        topic = self.topics.events("position")
        new = [d.record for d in self.log.deliveries[before:]]
        return [(topic, position_id, encode_event(e)) for e in new if isinstance(e, RecordedEvent)]

    def select(self, statement: str, *parameters: str) -> list[tuple[Any, ...]]:
        """Return what a reader sees."""
        with Reader(self.url, readable(some_projections()), SUPPORT) as reader:
            return list(reader.select(statement, parameters).rows)

    def reached(self, name: str) -> int:
        """Return how many offsets of events of positions a projection has behind it."""
        statement = f"""SELECT sum(next_offset) FROM projection_position
            WHERE projection = '{name}' AND topic LIKE '%position.events'"""
        ((offset,),) = self.select(statement)
        return int(offset or 0)

    def end(self) -> int:
        """Return how many offsets of events of positions there are."""
        topic = self.topics.events("position")
        places = [TopicPartition(topic, number) for number in range(self.topics.partitions)]
        with KafkaLog(self.options) as log:
            kept = log.bounds(places)
        return sum(span.end for span in kept.values())


def some_projections() -> list[Projection]:
    """Return the projections that run here."""
    return [projection for projection in projections(APPLICATION) if projection.name in SOME]


def reaches(live: LiveProjections, reached: Callable[[], bool]) -> None:
    """Wait until something is seen, as long as the read side runs."""
    await_true(reached, live.check)

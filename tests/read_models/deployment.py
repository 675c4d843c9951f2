"""Topics of one test on the shared broker, and the read side behind them."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.projection.event_log import EventLog
from verdict.model.recorded_event import RecordedEvent
from verdict.projection.declared import projections
from verdict.projection.processor_tables import readable
from verdict.projection.reader_role import OPERATOR
from verdict.read_models.running import Projecting
from verdict.reading.reader import Reader
from verdict.wire.records import encode_event
from verdict.wire.topics import Topics

PATIENCE_S = 120


class Deployment:
    """Topics of one test, what is written to them, and the read side behind them."""

    def __init__(self, servers: str, prefix: str, directory: Path, url: str) -> None:
        self.topics = Topics(prefix=prefix, partitions=2)
        self.kafka = {
            "kafka.bootstrap.servers": servers,
            "kafka.fetch.max.wait.ms": "10",
            "maxOffsetsPerTrigger": "1000",
        }
        self.url = url
        self.directory = directory
        self.log = EventLog(partitions=2)
        self._admin = AdminClient({"bootstrap.servers": servers})
        self.servers = servers
        made = [NewTopic(t.name, t.partitions, 1) for t in self.topics.all() if t.partitions == 2]
        for created in self._admin.create_topics(made).values():
            created.result(30)

    def create(self, topic: str) -> None:
        """Create a topic with one partition."""
        self._admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)

    def write(self, *records: tuple[str, str, bytes | None], commit: bool = True) -> None:
        """Write (topic, key, value) in one transaction."""
        producer = Producer(
            {"bootstrap.servers": self.servers, "transactional.id": f"{self.topics.prefix}test"}
        )
        producer.init_transactions(30)
        producer.begin_transaction()
        for topic, key, value in records:
            producer.produce(topic, value, key, partition=self.log.place_of(key).partition)
        if commit:
            producer.commit_transaction(30)
        else:
            producer.flush(30)
            producer.abort_transaction(30)

    def happens(self, position_id: str, *payloads: object) -> list[tuple[str, str, bytes]]:
        """Return the records of these events of a position."""
        before = len(self.log.deliveries)
        self.log.add(position_id, *payloads)  # type: ignore[arg-type]
        topic = self.topics.events("position")
        new = [d.record for d in self.log.deliveries[before:]]
        return [(topic, position_id, encode_event(e)) for e in new if isinstance(e, RecordedEvent)]

    def select(self, statement: str, *parameters: str) -> list[tuple[Any, ...]]:
        """Return what a reader sees."""
        with Reader(self.url, readable(projections()), OPERATOR) as reader:
            return list(reader.select(statement, parameters).rows)


def reaches(projecting: Projecting, reached: Callable[[], bool]) -> None:
    """Wait until something is seen, as long as the read side runs."""
    deadline = time.monotonic() + PATIENCE_S
    while not reached():
        projecting.check()
        assert time.monotonic() < deadline, f"not seen in {PATIENCE_S} s"
        time.sleep(0.05)

"""A deployment without a service: events on Kafka, some archived, and a progress record."""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Message, Producer

from tests.application import APPLICATION
from tests.projection.event_log import EventLog
from tests.projection.read_side import ReadSide
from tests.topics import create, drop
from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.model.message import Event
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import Delivery, ProjectionBatch
from verdict.read_side.as_of.materialiser import Materialiser
from verdict.read_side.as_of.moment import parse_as_of
from verdict.read_side.live.stream import Decoder
from verdict.settings.load import load_settings
from verdict.streaming.exactly_once.query import DECIDER
from verdict.wire.partitions import OffsetRange as Offsets
from verdict.wire.partitions import TopicPartition
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.records import encode
from verdict.wire.topics import Topics

PARTITIONS = 2

Written = tuple[str, bytes, bytes | None, int]  # topic, key, value, partition


def deployment_name(test: str) -> str:
    """Return a name of a test's own: its beginning, and its end, where the parameters are."""
    name = re.sub(r"[^a-z0-9]+", "-", test)
    return f"{name[5:43]}-{name[-11:].strip('-')}"


class World:
    """Topics of one test, and the archive behind them.

    Args:
        broker: That runs.
        name: Of the deployment; also stands before its topics.
        url: Of an empty database.
        folder: For what the materialiser needs.
    """

    def __init__(self, broker: EmbeddedBroker, name: str, url: str, folder: Path) -> None:
        self.topics = Topics(APPLICATION, name, f"{name}.", PARTITIONS)
        self.options = {"bootstrap.servers": broker.bootstrap_servers}
        self.events = EventLog(PARTITIONS)
        self.read_side = ReadSide(url)
        self.settings = load_settings(
            APPLICATION,
            deployment=name,
            topic_prefix=f"{name}.",
            partitions=PARTITIONS,
            data_dir=folder,
            bootstrap_servers=broker.bootstrap_servers,
            database_url=url,
        )
        self._written = 0
        read = {
            topic for p in self.read_side.projections.values() for topic in p.topics(self.topics)
        }
        decided = {*self.topics.every_commands(), self.topics.progress, self.topics.skips}
        create(broker.bootstrap_servers, self.topics, read | decided, self.topics.states)

    @property
    def kafka(self) -> KafkaConfig:
        return KafkaConfig(settings=self.options)

    @property
    def topic(self) -> str:
        """The topic of the events."""
        return self.topics.events("position")

    def happen(self, name: str, *payloads: Event) -> None:
        """Let these events happen to a position; they are on Kafka after `write`."""
        self.events.add(name, *payloads)

    def write(self) -> None:
        """Write what happened in one transaction, which takes an offset of its own."""
        with self.open_transaction():
            pass

    @contextmanager
    def open_transaction(self) -> Iterator[None]:
        """Write what happened, and commit it when the block ends."""
        new = self.events.deliveries[self._written :]
        self._written += len(new)
        records = [
            (self.topic, d.record.aggregate_id.encode(), d.value, d.partition)  # type: ignore[union-attr]
            for d in new
        ]
        with self._transaction(records):
            yield

    def transact(self, records: Iterable[Written]) -> None:
        """Write records in one transaction."""
        with self._transaction(records):
            pass

    @contextmanager
    def _transaction(self, records: Iterable[Written]) -> Iterator[None]:
        producer = Producer(self.options | {"transactional.id": f"{self.topics.prefix}test"})
        producer.init_transactions(30)
        producer.begin_transaction()
        for topic, key, value, partition in records:
            producer.produce(topic, value, key, partition=partition)
        producer.flush(30)
        yield
        producer.commit_transaction(30)

    def put(self, topic: str, key: str, value: Any, at: int = 0) -> None:
        """Write a record of JSON, or without a value, outside of any transaction."""
        producer = Producer(self.options)
        body = None if value is None else json.dumps(value).encode()
        producer.produce(topic, body, key.encode(), partition=0, timestamp=at)
        assert producer.flush(30) == 0

    def deliveries(self) -> list[Delivery]:
        """Return the events as they lie on Kafka."""
        decoder = Decoder(self.topics)
        return [
            decoder.delivery(self.topic, m.partition() or 0, m.offset() or 0, m.key(), m.value())
            for m in self.read(self.topic)
        ]

    def archive(self) -> None:
        """Archive all events that Kafka has."""
        spans = {TopicPartition(self.topic, n): Offsets(0, end) for n, end in self.ends(self.topic)}
        projection = self.read_side.projections["event_archive"]
        applier = Applier(self.read_side.engine, projection, self.topics, live=False)
        applier.apply(ProjectionBatch(self.deliveries(), spans))
        assert applier.failure is None, applier.failure

    def decide(self) -> None:
        """Say, as the decider does, that all commands have their outcome."""
        offsets = {t: [end for _, end in self.ends(t)] for t in self.topics.every_commands()}
        progress = ProgressRecord(
            query=DECIDER,
            owner="test",
            generation=1,
            query_id=None,
            batch_id=0,
            digest=b"\0" * 32,
            offsets=offsets,
            shards=1,
            handler_version="1",
        )
        self.transact([(self.topics.progress, DECIDER.encode(), encode(progress), 0)])

    def drop(self, before: int) -> None:
        """Let Kafka forget the events of partition 0 before an offset."""
        drop(self.options["bootstrap.servers"], self.topic, {0: before})

    def ends(self, topic: str) -> list[tuple[int, int]]:
        """Return the next offset of each partition, with its number."""
        with KafkaLog(self.options) as log:
            kept = log.bounds(log.places([topic]))
        return [(place.partition, span.end) for place, span in kept.items()]

    def bounds(self, topic: str) -> list[tuple[int, int]]:
        """Return the first and the next offset of each partition."""
        with KafkaLog(self.options) as log:
            kept = log.bounds(log.places([topic]))
        return [(span.start, span.end) for span in kept.values()]

    def read(self, topic: str) -> list[Message]:
        """Return what a reader of committed records sees, once no commit is on its way there."""
        with KafkaLog(self.options) as log:
            places = log.places([topic])
            log.await_settled(places, "it cannot be read")
            return [*log.read(log.bounds(places))]

    def told(self, name: str, as_of: object, folder: Path) -> tuple[list[Any], dict[str, Any]]:
        """Return the rows of a read model as of some position, and the progress record."""
        file = folder / "told.ndjson"
        Materialiser(self.settings, name).run(parse_as_of(str(as_of)), str(file))
        *rows, progress = map(json.loads, file.read_bytes().splitlines())
        return [tuple(row.values()) for row in rows], progress

    def close(self) -> None:
        self.read_side.close()

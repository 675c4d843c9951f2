"""A deployment without a service: events on Kafka, some archived, and a progress record."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Message

from tests.application import APPLICATION
from tests.kit.databases import ReadSide
from tests.kit.deployment import KafkaDeployment, Written, marker_at
from tests.kit.log import EventLog
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.model.message import Event
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import Delivery
from verdict.read_side.as_of.materialiser import Materialiser
from verdict.read_side.as_of.resolving import parse_as_of
from verdict.read_side.live.decoding import RecordDecoder
from verdict.settings.load import load_settings
from verdict.streaming.exactly_once.query import DECIDER
from verdict.wire.records import encode
from verdict.wire.topics import Topics

PARTITIONS = 2


def deployment_name(test: str) -> str:
    """Return a name of a test's own: its beginning, and its end, where the parameters are."""
    name = re.sub(r"[^a-z0-9]+", "-", test)
    return f"{name[5:43]}-{name[-11:].strip('-')}"


class World(KafkaDeployment):
    """Topics of one test, and the archive behind them."""

    def __init__(self, broker: EmbeddedBroker, name: str, url: str, folder: Path) -> None:
        topics = Topics(APPLICATION, name, f"{name}.", PARTITIONS)
        super().__init__(broker.bootstrap_servers, topics)
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
        read = {t for p in self.read_side.projections.values() for t in p.topics(self.topics)}
        decided = {*self.topics.every_commands(), self.topics.progress, self.topics.skips}
        self.create_own(*read, *decided, timed=self.topics.states)

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
        records: list[Written] = [
            (self.topic, d.record.aggregate_id, d.value, d.partition)  # type: ignore[union-attr]
            for d in new
        ]
        with self.transaction(records):
            yield

    def put(self, topic: str, key: str, value: Any, at: int = 0) -> None:
        """Write a record of JSON, or without a value, outside of any transaction."""
        body = None if value is None else json.dumps(value).encode()
        self.produce([(topic, key, body, 0)], timestamp=at)

    def deliveries(self) -> list[Delivery]:
        """Return the events as Kafka has them."""
        decoder = RecordDecoder(self.topics)
        return [
            decoder.delivery(self.topic, m.partition() or 0, m.offset() or 0, m.key(), m.value())
            for m in self.read(self.topic)
        ]

    def archive(self) -> None:
        """Archive all events that Kafka has."""
        projection = self.read_side.projections["event_archive"]
        applier = Applier(self.read_side.engine, projection, self.topics, live=False)
        self.bring_up_to_date(applier, self.topic)

    def decide(self) -> None:
        """Say, as the decider does, that all commands have their outcome."""
        decided = {t: [end for _, end in self.ends(t)] for t in self.topics.every_commands()}
        self.transact([(self.topics.progress, DECIDER, encode(marker_at(decided)), 0)])

    def drop(self, before: int) -> None:
        """Let Kafka forget the events of partition 0 before an offset."""
        self.forget(self.topic, {0: before})

    def ends(self, topic: str) -> list[tuple[int, int]]:
        """Return the next offset of each partition, with its number."""
        return [(number, end) for number, (_, end) in enumerate(self.bounds(topic))]

    def read(self, topic: str) -> list[Message]:
        """Return what a reader of committed records sees, once no commit is on its way there."""
        return self.committed(topic)

    def told(
        self, name: str, as_of: object, folder: Path, accept_blocked: bool = False
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return the rows of a projection as of some position, and the progress record."""
        file = folder / "told.ndjson"
        Materialiser(self.settings, name, accept_blocked).run(parse_as_of(str(as_of)), str(file))
        *rows, progress = map(json.loads, file.read_bytes().splitlines())
        return [tuple(row.values()) for row in rows], progress

    def close(self) -> None:
        self.read_side.close()

"""A deployment whose books are right: real decisions, published, archived and projected."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from tests.application import APPLICATION
from tests.kit.databases import ReadSide
from tests.kit.deployment import KafkaDeployment, Written, marker_at
from tests.processor.fake_state import FakeStateStore
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.model.source import Source
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.missing_events import missing_events
from verdict.settings.load import load_settings
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.streaming.exactly_once.query import DECIDER
from verdict.wire.command_record import CommandRecord
from verdict.wire.partitions import OffsetRange, TopicPartition, partition_of
from verdict.wire.records import encode
from verdict.wire.topics import Topics
from verdict.write_side.decide.command_checks import Limits
from verdict.write_side.processor.batch import ShardBatch
from verdict.write_side.state.log_structured import LogStructuredState

PARTITIONS = 2
PLACE = {
    "type": "PlaceOrder",
    "client": "ada",
    "ticker": "AAPL",
    "side": "BUY",
    "quantity": 10,
    "limit_price_cents": 100,
}
Spoil = Callable[[Iterable[OutputRecord]], list[OutputRecord]]


class Books(KafkaDeployment):
    """Topics with a prefix of their own, a decider without Spark, and a read side."""

    def __init__(self, broker: EmbeddedBroker, name: str, folder: Path) -> None:
        topics = Topics(APPLICATION, name, f"{name}.", PARTITIONS)
        super().__init__(broker.bootstrap_servers, topics)
        folder.mkdir()
        self.url = f"sqlite:///{folder / 'verdict.db'}"
        self.settings = load_settings(
            APPLICATION,
            deployment=name,
            topic_prefix=f"{name}.",
            partitions=PARTITIONS,
            data_dir=folder,
            bootstrap_servers=broker.bootstrap_servers,
            database_url=SecretStr(self.url),
        )
        TopicAdmin(self.options, self.topics).create_missing()
        self.read_side = ReadSide(self.url)
        self._state = LogStructuredState(FakeStateStore(), folder / "state")
        self._decided = {topic: [0] * PARTITIONS for topic in self.topics.every_commands()}
        self._commands = 0

    def ask(self, aggregate_type: str, name: str, *payloads: dict[str, Any]) -> None:
        """Send these commands to an aggregate, whatever version it has."""
        records = []
        for payload in payloads:
            self._commands += 1
            command = {
                "command_id": f"c-{self._commands}",
                "aggregate_id": name,
                "expected_version": "ANY",
                "payload": payload,
            }
            records.append(self.at(self.topics.commands(aggregate_type), name, command))
        self.produce(records)

    def at(self, topic: str, name: str, value: bytes | dict[str, Any] | None) -> Written:
        """Return a record under a key, at the place that the key has."""
        body = json.dumps(value).encode() if isinstance(value, dict) else value
        return topic, name.encode(), body, partition_of(name.encode(), PARTITIONS)

    def settle(self, spoil: Spoil = list) -> None:
        """Decide what was asked, publish that, and let state and projections follow."""
        self.decide(spoil)
        self._state.open(0)  # so that the local copy takes in what was committed last
        self.project()

    def decide(self, spoil: Spoil = list) -> None:
        """Decide what was asked, and publish it as the decider does, with its progress record."""
        ends = {topic: [end for _, end in self.bounds(topic)] for topic in self._decided}
        starts, self._decided = self._decided, ends
        spans = {
            TopicPartition(topic, number): OffsetRange(starts[topic][number], end)
            for topic, offsets in ends.items()
            for number, end in enumerate(offsets)
        }
        with KafkaLog(self.options) as log:
            commands = [
                CommandRecord(
                    Source(str(m.topic()), m.partition() or 0, m.offset() or 0),
                    m.timestamp()[1], m.key(), m.value(), len(m.value() or b""), None,
                )
                for m in log.read(spans)
            ]  # fmt: skip
        self._state.open(0)
        batch = ShardBatch(self.topics, Limits(), self._state)
        outputs = spoil(batch.decide(commands))
        batch.commit()
        places = {topic.name: topic.partitions for topic in self.topics.all()}
        self.transact(
            [
                *(
                    (o.topic, o.key, o.value, partition_of(o.key or b"", places[o.topic]))
                    for o in outputs
                ),
                (self.topics.progress, DECIDER.encode(), encode(marker_at(self._decided)), 0),
            ]
        )

    def project(self, *names: str) -> None:
        """Let projections follow, all unless some are named."""
        for name, projection in self.read_side.projections.items():
            if names and name not in names:
                continue
            applier = Applier(
                self.read_side.engine, projection, self.topics, missing=missing_events
            )
            self.bring_up_to_date(applier, *projection.topics(self.topics))

    def transact(self, records: Iterable[Written], *, commit: bool = True) -> None:
        """Write records in one transaction, and return when all of them can be read."""
        super().transact(records, commit=commit)
        with self.transaction(()):
            pass  # the progress records of the one before are in the log then

    def records(self, topic: str, name: str) -> list[tuple[int, bytes]]:
        """Return offset and value of what is under a key."""
        found = [m for m in self.committed(topic) if m.key() == name.encode()]
        return [(m.offset() or 0, m.value() or b"") for m in found]

    def partition(self, name: str) -> int:
        """Return the partition that a key has on each topic of its aggregate."""
        return partition_of(name.encode(), PARTITIONS)

    def drop(self, topic: str, partition: int, before: int) -> None:
        """Let Kafka forget what is before an offset."""
        self.forget(topic, {partition: before})

    def close(self) -> None:
        """Let go of the database."""
        self.read_side.close()

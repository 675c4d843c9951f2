"""Topics of one test on a real broker: what is written to them, and what they hold."""

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.topics import create, create_new, drop
from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.reader import KafkaLog
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import ProjectionBatch
from verdict.read_side.live.decoding import RecordDecoder
from verdict.streaming.event_log.record import raw_record
from verdict.streaming.exactly_once.query import DECIDER
from verdict.wire.partitions import OffsetRange, Spans, TopicPartition
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.topics import Topics

PATIENCE_S = 180
PAUSE_S = 0.1  # whoever is waited for needs the processor

Written = tuple[str, str | bytes | None, bytes | None, int]  # topic, key, value, partition


def name_of(request: pytest.FixtureRequest, longest: int = 120) -> str:
    """Return a test's name as the names of topics allow it."""
    return re.sub(r"[^a-z0-9]+", "-", request.node.name)[:longest]


def await_true(
    reached: Callable[[], bool],
    meanwhile: Callable[[], object] = lambda: None,
    what: str | Callable[[], object] = "it did not happen",
    seconds: float = PATIENCE_S,
) -> None:
    """Return when `reached`; fail with `what` after so many seconds.

    `meanwhile` is called between two looks; it raises when waiting is useless.
    """
    deadline = time.monotonic() + seconds
    while not reached():
        meanwhile()
        if time.monotonic() >= deadline:
            raise AssertionError(f"after {seconds} s: {what if isinstance(what, str) else what()}")
        time.sleep(PAUSE_S)


class KafkaDeployment:
    """A deployment's topics on a broker that other tests share."""

    def __init__(self, servers: str, topics: Topics) -> None:
        self.servers = servers
        self.topics = topics
        self.options = {"bootstrap.servers": servers}
        self.kafka = KafkaConfig(settings=self.options)

    def create_own(self, *names: str, timed: Collection[str] = ()) -> None:
        """Create some of the deployment's topics, as `tests.topics.create` does."""
        create(self.servers, self.topics, names, timed)

    def remove(self, topic: str) -> None:
        """Delete a topic; return when the broker no longer lists it."""
        admin = self._admin()  # held: a client that is collected takes its request with it
        admin.delete_topics([topic])[topic].result(30)
        while self.has(topic):
            pass

    def recreate(self, topic: str, partitions: int = 1) -> None:
        """Delete a topic and create it again, empty and with default settings."""
        self.remove(topic)
        create_new(self._admin(), [NewTopic(topic, partitions, 1)])

    def has(self, topic: str) -> bool:
        with KafkaLog(self.options) as log:
            return topic in log.topics()

    def produce(self, records: Iterable[Written], **more: Any) -> None:
        """Write records outside of any transaction, with more arguments of `produce` for each."""
        producer = Producer(self.options)
        for topic, key, value, partition in records:
            producer.produce(topic, value, key, partition, **more)
            producer.poll(0)
        assert producer.flush(60) == 0

    def transact(self, records: Iterable[Written], *, commit: bool = True) -> None:
        """Write records in one transaction, and commit or abort it."""
        with self.transaction(records, commit=commit):
            pass

    @contextmanager
    def transaction(self, records: Iterable[Written], *, commit: bool = True) -> Iterator[None]:
        """Write records in one transaction, which ends with the block."""
        producer = Producer(self.options | {"transactional.id": f"{self.topics.prefix}test"})
        producer.init_transactions(30)
        producer.begin_transaction()
        for topic, key, value, partition in records:
            producer.produce(topic, value, key, partition)
        producer.flush(30)
        yield
        if commit:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)

    def _spans(self, topic: str) -> Spans:
        with KafkaLog(self.options) as log:
            return log.bounds(log.places([topic]))

    def bounds(self, topic: str) -> list[tuple[int, int]]:
        """Return the first and the next offset of each partition."""
        return [(span.start, span.end) for span in self._spans(topic).values()]

    def next_offsets(self, topic: str) -> dict[TopicPartition, int]:
        return {partition: span.end for partition, span in self._spans(topic).items()}

    def committed(self, *topics: str) -> list[Message]:
        """Return what a reader of committed records sees, when no transaction is open there.

        A commit returns before its progress records are in the log.
        """
        with KafkaLog(self.options, 60) as log:
            partitions = log.places(topics)
            log.await_settled(partitions, f"{', '.join(topics)} cannot be read")
            return [*log.read(log.bounds(partitions))]

    def bring_up_to_date(self, applier: Applier, *topics: str) -> None:
        """Apply all that Kafka has of some topics, from where the projection is."""
        starts, decoder = applier.positions, RecordDecoder(self.topics)
        with KafkaLog(self.options) as log:
            partitions = log.places(topics)
            log.await_settled(partitions, f"{', '.join(topics)} cannot be read")
            kept = log.bounds(partitions)
            spans = {at: OffsetRange(starts.get(at, 0), span.end) for at, span in kept.items()}
            deliveries = [decoder.delivery(*raw_record(m)) for m in log.read(spans)]
        applier.apply(ProjectionBatch(deliveries, spans))
        assert applier.failure is None, applier.failure

    def forget(self, topic: str, before: Mapping[int, int]) -> None:
        """Let Kafka drop what is before an offset of each partition, as retention does."""
        drop(self.servers, topic, before)

    def _admin(self) -> AdminClient:
        return AdminClient({**self.options, "log_level": 0})


def marker_at(offsets: Mapping[str, list[int]]) -> ProgressRecord:
    """Return a progress record of a decider that has decided up to these offsets."""
    return ProgressRecord(
        query=DECIDER,
        owner="test",
        generation=1,
        query_id=None,
        batch_id=0,
        digest=b"\0" * 32,
        offsets=dict(offsets),
        shards=1,
        handler_version="1",
    )

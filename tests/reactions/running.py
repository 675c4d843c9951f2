"""Reactions that are started, killed at a step, and started again."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Message, Producer
from pyspark.sql import SparkSession

from tests.application import APPLICATION
from tests.kit.deployment import KafkaDeployment, await_true
from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import offsets_at
from verdict.adapters.kafka.reader import KafkaLog
from verdict.reactions.policies.processor import start_reactions
from verdict.reactions.policies.reaction import reactions_of, reactions_query
from verdict.settings.load import load_settings
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.failpoints import Failpoint, OnStep, ignore_step
from verdict.streaming.exactly_once.query import Query
from verdict.streaming.exactly_once.read_progress import read_progress
from verdict.streaming.queries.kafka_source import StreamContext
from verdict.streaming.queries.stateless import StatelessProcessor
from verdict.wire.partitions import TopicPartition
from verdict.wire.topics import Topics


class KilledError(Exception):
    """The process ends here."""


def dying_at(step: Failpoint) -> OnStep:
    """Return an observer that ends everything when `step` is reached."""

    def observe(now: Failpoint) -> None:
        if now is step:
            raise KilledError(step)

    return observe


class Reacted(KafkaDeployment):
    """The reactions of one test, and what is on its topics."""

    def __init__(self, spark: SparkSession, servers: str, topics: Topics, directory: Path) -> None:
        super().__init__(servers, topics)
        self.spark = spark
        self.directory = directory

    @contextmanager
    def running(self, on_step: OnStep = ignore_step) -> Iterator[StatelessProcessor]:
        """Let the reactions run, once; what they leave on the disk is lost each time."""
        ground = StreamContext(
            spark=self.spark,
            kafka=self.kafka,
            source={"kafka.bootstrap.servers": self.servers},
            partitions=self.topics.partitions,
            scratch=self.directory,
        )
        processor = start_reactions(ground, self.settings, on_step)
        try:
            processor.start()
            yield processor
        finally:
            processor.stop()

    @property
    def settings(self) -> Settings:
        """The settings of this test's deployment."""
        return load_settings(
            APPLICATION,
            data_dir=self.directory,
            deployment=self.topics.deployment,
            topic_prefix=self.topics.prefix,
            partitions=self.topics.partitions,
            policy_trigger_ms=0,
        )

    def killed_at(self, step: Failpoint) -> None:
        """Run until `step` is reached, and no further."""
        with self.running(dying_at(step)) as processor, pytest.raises(KilledError):
            watch(processor)

    def run_to_the_end(self) -> None:
        """Run until everything that is on the inputs has been reacted to."""
        with self.running() as processor:
            self.await_quiet(processor)

    def await_quiet(self, processor: StatelessProcessor) -> None:
        """Return when everything that is on the inputs has been reacted to."""
        wait_for(processor, lambda: not self.behind())

    def await_invoices(self, processor: StatelessProcessor, wanted: int) -> None:
        """Return when so many commands were sent to invoices."""
        topic = self.topics.commands("invoice")
        wait_for(processor, lambda: len(self.on(topic)) >= wanted)

    def behind(self) -> bool:
        """Tell whether records are on the inputs that no progress record covers."""
        return behind(reactions_query(reactions_of(self.settings)), self.topics, self.kafka)

    def send(
        self,
        topic: str,
        records: Iterable[tuple[str, bytes]],
        headers: Mapping[str, str | bytes] | None = None,
    ) -> None:
        """Put (key, value) on a topic, all with the same headers."""
        producer = Producer(
            {
                "bootstrap.servers": self.servers,
                "partitioner": "murmur2_random",
                "acks": "all",
                "compression.type": "gzip",
                "message.max.bytes": 20_000_000,
            }
        )
        for key, value in records:
            producer.produce(topic, value, key, headers=dict(headers or {}))
            producer.poll(0)
        assert producer.flush(60) == 0

    def write_progress(self, query: Query, value: bytes | None) -> None:
        """Replace a progress record with garbage."""
        self.produce([(query.progress_topic, query.key, value, 0)])

    def on(self, topic: str) -> list[Message]:
        """Return what a reader of committed records finds on a topic, by partition."""
        return read_all(self.servers, [topic])


def behind(query: Query, topics: Topics, kafka: KafkaConfig) -> bool:
    """Tell whether records are on the inputs of a query that its progress record does not cover."""
    progress = read_progress(kafka, query, wait=True).progress
    assert progress is not None
    places = [
        TopicPartition(topic, number)
        for topic in query.inputs
        for number in range(topics.partitions)
    ]
    with KafkaLog(kafka.settings) as log:
        kept = log.bounds(places)
    return any(span.end > offsets_at(progress.offsets, place) for place, span in kept.items())


def wait_for(processor: StatelessProcessor, reached: Callable[[], bool]) -> None:
    """Look after reactions until something is reached."""
    await_true(reached, processor.check)


def watch(processor: StatelessProcessor) -> None:
    """Look after reactions until they end; what ended them is raised."""
    await_true(lambda: False, processor.check, "they do not end")


def read_all(servers: str, topics: Iterable[str]) -> list[Message]:
    """Return the committed records of whole topics."""
    with KafkaLog({"bootstrap.servers": servers}, 60) as log:
        places = log.places(topics)
        log.await_settled(places, "a topic cannot be looked at")
        return [*log.read(log.bounds(places))]

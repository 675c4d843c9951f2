"""A recovery as a whole, where it refuses; in tests/e2e one succeeds."""

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Message, Producer
from pyspark.sql import SparkSession

from verdict.configuration.settings import Settings
from verdict.decider.recovery.folding import BrokenHistory
from verdict.decider.recovery.recovering import recover
from verdict.errors import VerdictError
from verdict.exactly_once.decider_query import decider_query
from verdict.exactly_once.markers import read_marker
from verdict.foundation.foundation import Foundation
from verdict.kafka.access import Kafka
from verdict.kafka.topic_check import TopicAdmin
from verdict.local.broker import EmbeddedBroker

NewGround = Callable[[Settings], Foundation]


@pytest.fixture
def new_ground(spark: SparkSession, broker: EmbeddedBroker) -> NewGround:
    """Return what makes the topics of a deployment, and what its recovery stands on."""
    servers = broker.bootstrap_servers

    def made(settings: Settings) -> Foundation:
        TopicAdmin({"bootstrap.servers": servers}, settings.topics).create_missing()
        return Foundation(
            spark=spark,
            kafka=Kafka(settings={"bootstrap.servers": servers}),
            source={"kafka.bootstrap.servers": servers},
            partitions=settings.partitions,
            scratch=settings.data_dir,
            servers=servers,
            marker=None,
            broker=None,
        )

    return made


def test_there_is_nothing_to_recover_before_the_first_start(
    new_ground: NewGround, tmp_path: Path
) -> None:
    settings = settings_of("fresh", tmp_path)

    with pytest.raises(VerdictError, match="there is nothing to recover"):
        recover(new_ground(settings), settings)


@pytest.mark.proves("C-17")
def test_what_verdict_did_not_write_is_named_and_nothing_goes_on_from_there(
    new_ground: NewGround, tmp_path: Path
) -> None:
    settings = settings_of("strange", tmp_path)
    topics, ground = settings.topics, new_ground(settings)
    strange = write(ground, topics.events("order"), b"garbage")
    tombstone = write(ground, topics.responses("order"), None)

    with pytest.raises(BrokenHistory, match="histories in Kafka do not hold together") as refused:
        recover(ground, settings)

    named = strange, tombstone, "--skip TOPIC:PARTITION:OFFSET"
    assert [text for text in named if text not in str(refused.value)] == []
    assert read_marker(ground.kafka, decider_query(topics, 2), wait=True).marker is None


def settings_of(name: str, data_dir: Path) -> Settings:
    """Return settings with few partitions, each of which is a task of Spark."""
    return Settings(deployment=name, topic_prefix=f"{name}-", data_dir=data_dir, partitions=1)


def write(ground: Foundation, topic: str, value: bytes | None) -> str:
    """Write a record behind everybody's back; return its place."""
    written: list[Message] = []
    producer = Producer({"bootstrap.servers": ground.servers})
    producer.produce(
        topic, value, b"order-1", on_delivery=lambda _, message: written.append(message)
    )
    assert producer.flush(30) == 0
    return f"{topic}:0:{written[0].offset()}"

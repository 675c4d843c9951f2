"""Topics of other teams: any times, and partitions that they add."""

import json
import re
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from tests.application import APPLICATION, decode_command
from tests.reactions.running import Reacted
from tests.reactions.tills import sale
from tests.topics import create, grow
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.reactions.policies.reaction import reactions_added, reactions_query
from verdict.wire.topics import Topics

pytestmark = pytest.mark.spark

# that Spark cannot count in microseconds, that is before 1970, and an ordinary one
TIMES = (-9_300_000_000_000_000, -5, 1_795_262_400_000)


@pytest.fixture
def reacted(
    spark: SparkSession, broker: EmbeddedBroker, request: pytest.FixtureRequest, tmp_path: Path
) -> Reacted:
    """Return reactions on a topic of tills that takes the times of its senders."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name)[:60]
    topics = Topics(APPLICATION, deployment=name, prefix=f"{name}.", partitions=2)
    query = reactions_query(reactions_added(topics, {}))
    needed = {*topics.every_commands(), query.progress_topic, topics.skips} | query.topics
    create(broker.bootstrap_servers, topics, needed, timed=topics.inbound)
    return Reacted(spark, broker.bootstrap_servers, topics, tmp_path)


def sell(reacted: Reacted, partition: int, first: int) -> None:
    """Let a till write an invoice at each of the times."""
    producer = Producer({"bootstrap.servers": reacted.servers})
    topic, random = reacted.topics.named("POS"), Random(first)
    for number, at in enumerate(TIMES, first):
        value = json.dumps(sale(number, random)).encode()
        producer.produce(topic, value, b"store", partition, timestamp=at)
    assert producer.flush(60) == 0


@pytest.mark.proves("P-09")
def test_each_record_of_a_till_is_read_whatever_its_time_and_wherever_it_lies(
    reacted: Reacted, caplog: pytest.LogCaptureFixture
) -> None:
    """A time that Spark cannot hold ended the reactions, at each start again."""
    topic = reacted.topics.named("POS")
    sell(reacted, 0, 1)
    with reacted.running() as processor:
        reacted.await_quiet(processor)
        grow(reacted.servers, topic, 4)
        sell(reacted, 3, 11)
        reacted.await_invoices(processor, 6)
    grow(reacted.servers, topic, 6)
    sell(reacted, 5, 21)
    with reacted.running() as processor:
        reacted.await_invoices(processor, 9)

    values = [one.value() for one in reacted.on(reacted.topics.commands("invoice"))]
    ids = [decode_command("invoice", value)["aggregate_id"] for value in values if value]
    assert sorted(map(int, ids)) == [1, 2, 3, 11, 12, 13, 21, 22, 23]
    assert reacted.on(reacted.topics.dead_letters) == []
    assert "has a time that Spark cannot hold" in caplog.text

"""A record's time is Kafka's, on each topic that Spark reads: it cannot hold what senders say."""

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from tests.topics import create
from verdict.local.broker import EmbeddedBroker
from verdict.spark.source import stored
from verdict.wire.topics import Topics

BEYOND = [1_700_000_000_000_000_000, -(10**17)]  # nanoseconds, and milliseconds of no calendar


@pytest.mark.proves("C-11")
def test_no_time_of_a_sender_ends_who_reads(spark: SparkSession, broker: EmbeddedBroker) -> None:
    topics = Topics(prefix="beyond.", partitions=1)
    names = {topics.events("order"), topics.dead_letters, topics.retry, *topics.states}
    create(broker.bootstrap_servers, topics, names)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for name in names:
        for time in BEYOND:
            producer.produce(name, b"anything", b"key", timestamp=time)
    assert producer.flush(60) == 0

    address = {"kafka.bootstrap.servers": broker.bootstrap_servers}
    found = stored(spark, address, subscribe=",".join(names)).select("topic").collect()

    assert sorted(row.topic for row in found) == sorted([*names] * len(BEYOND))

"""A record's time is Kafka's, on each topic that Spark reads: it cannot hold what senders say."""

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.application import APPLICATION
from tests.topics import create
from tests.traffic import START
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.model.message import END_OF_TIME
from verdict.streaming.queries.kafka_source import stored
from verdict.wire.topics import Topics
from verdict.write_side.processor.spark_plan import bounded

BEYOND = [1_700_000_000_000_000_000, -(10**17)]  # nanoseconds, and milliseconds of no calendar


@pytest.mark.proves("C-11")
def test_no_time_of_a_sender_ends_a_reader(spark: SparkSession, broker: EmbeddedBroker) -> None:
    topics = Topics(APPLICATION, prefix="beyond.", partitions=1)
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


@pytest.mark.proves("C-11")
def test_no_time_lies_beyond_what_every_store_holds(spark: SparkSession) -> None:
    columns = "topic STRING, partition INT, offset BIGINT, key BINARY, value BINARY, millis BIGINT"
    told = [("a", 0, offset, b"", b"", time) for offset, time in enumerate((10**15, -1, START))]
    records = spark.createDataFrame(told, columns).withColumn(
        "timestamp", F.timestamp_millis("millis")
    )

    found = bounded(records, 100).orderBy("offset").select("timestamp").collect()

    assert [row.timestamp for row in found] == [END_OF_TIME, 0, START]

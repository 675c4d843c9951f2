"""Spark, and the topics of one test."""

import re
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from verdict.kafka.topic_check import TopicAdmin
from verdict.local.broker import EmbeddedBroker
from verdict.spark.session import spark_session
from verdict.wire.topics import Topics


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Return a session with two slots."""
    session = spark_session("reacting", 2, 2, "512m", tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture
def topics(broker: EmbeddedBroker, request: pytest.FixtureRequest) -> Topics:
    """Return topics of this test alone; they are there."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name)[:60]
    topics = Topics(deployment=name, prefix=f"{name}.", partitions=2)
    TopicAdmin({"bootstrap.servers": broker.bootstrap_servers}, topics).create_missing()
    return topics

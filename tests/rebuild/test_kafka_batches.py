"""Parts that are read one after the other leave nothing behind in Spark's JVM."""

import psutil
import pytest
from pyspark.sql import SparkSession

from schemas.position import PositionAdjusted
from tests.kit.log import opened
from tests.rebuild.deployment import Deployment
from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.live.source import KafkaBatches
from verdict.wire.partitions import OffsetRange, TopicPartition

PARTS = 12


def connections(spark: SparkSession, servers: str) -> set[int]:
    """Return the connections of Spark's JVM to the broker; each of its consumers keeps one."""
    jvm = psutil.Process(spark.sparkContext._gateway.proc.pid)  # type: ignore[union-attr]
    port = int(servers.rpartition(":")[2])
    return {one.laddr.port for one in jvm.net_connections() if one.raddr and one.raddr.port == port}


@pytest.mark.long
def test_the_next_part_is_read_by_the_consumer_of_the_last_one(
    spark: SparkSession, deployment: Deployment
) -> None:
    adjusted = [PositionAdjusted(amount=n) for n in range(1, PARTS)]
    deployment.write(*deployment.happens("p-1", opened("anna"), *adjusted))
    topic, place = deployment.topics.events("position"), deployment.log.place_of("p-1")
    batches = KafkaBatches(spark, deployment.source, deployment.topics)
    versions, before = [], connections(spark, deployment.servers)

    for offset in range(PARTS):
        part = {TopicPartition(topic, place.partition): OffsetRange(offset, offset + 1)}
        for batch in batches.between(part):
            records = [delivery.record for delivery in batch.deliveries([topic])]
            versions += [one.version for one in records if isinstance(one, RecordedEvent)]

    assert versions == [*range(1, PARTS + 1)]
    # those of tests before this one may end meanwhile
    assert 0 < len(connections(spark, deployment.servers) - before) < PARTS

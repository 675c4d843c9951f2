"""Parts that are read one after the other leave nothing behind in Spark's JVM."""

import psutil
from pyspark.sql import SparkSession

from compose.kafka.batches import KafkaBatches
from projections.engine.batch import Partition, Span
from schemas.position import PositionAdjusted
from schemas.recorded_event import RecordedEvent
from tests.compose.deployment import Deployment
from tests.projections.event_log import opened

PARTS = 12


def connections(servers: str) -> int:
    """Count Spark's connections to the broker; each of its consumers keeps one at least."""
    java = [one for one in psutil.Process().children() if "pyspark-shell" in one.cmdline()]
    port = int(servers.rpartition(":")[2])
    open_ones = [found for one in java for found in one.net_connections() if found.raddr]
    return sum(found.raddr.port == port for found in open_ones)


def test_the_next_part_is_read_by_the_consumer_of_the_last_one(
    spark: SparkSession, deployment: Deployment
) -> None:
    adjusted = [PositionAdjusted(amount=n) for n in range(1, PARTS)]
    deployment.write(*deployment.happens("p-1", opened("anna"), *adjusted))
    topic, place = deployment.topics.events("position"), deployment.log.place_of("p-1")
    batches = KafkaBatches(spark, deployment.kafka, deployment.topics)
    versions, before = [], connections(deployment.servers)

    for offset in range(PARTS):
        part = {Partition(topic, place.partition): Span(offset, offset + 1)}
        for batch in batches.between(part):
            records = [delivery.record for delivery in batch.deliveries([topic])]
            versions += [one.version for one in records if isinstance(one, RecordedEvent)]

    assert versions == [*range(1, PARTS + 1)]
    assert connections(deployment.servers) - before < PARTS

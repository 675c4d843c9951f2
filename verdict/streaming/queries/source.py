"""Kafka's records as Spark reads them: committed ones alone, and none dropped unsaid."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import AnyOffsets
from verdict.adapters.spark.session import LOG
from verdict.streaming.exactly_once.checkpoint import starting_offsets

SOURCE = {
    "kafka.isolation.level": "read_committed",
    "failOnDataLoss": "true",
    # Waiting for more data at the broker would be waiting twice: Spark gathers what comes while a
    # batch runs. With Kafka's default of 500 ms a lonely command takes a second longer.
    "kafka.fetch.max.wait.ms": "10",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamContext:
    """What queries stand on.

    Args:
        spark: Where they run.
        kafka: Where they publish, their progress records too.
        source: Options of Spark's Kafka source, `kafka.bootstrap.servers` and security among them.
        partitions: Of each topic that is not in `counts`.
        counts: Of topics, as Kafka had them at the start.
        scratch: A directory for what no restart needs.
    """

    spark: SparkSession
    kafka: KafkaConfig
    source: Mapping[str, str] = field(repr=False)  # passwords are in it
    partitions: int
    scratch: Path
    counts: Mapping[str, int] = field(default_factory=dict)

    def counted(self, topics: Iterable[str]) -> dict[str, int]:
        """Return how many partitions each of the topics has."""
        return {topic: self.counts.get(topic, self.partitions) for topic in topics}

    @property
    def log(self) -> Path:
        """Where Spark, its JVM and the Python workers say everything."""
        return self.scratch / LOG


def arriving(
    spark: SparkSession,
    source: Mapping[str, str],
    offsets: AnyOffsets,
    partitions: Mapping[str, int],
    rows: int,
    *,
    headers: bool = False,
) -> DataFrame:
    """Return what comes on topics."""
    options = {
        "subscribe": ",".join(partitions),
        "startingOffsets": starting_offsets(offsets, partitions),
        "maxOffsetsPerTrigger": str(rows),
        "includeHeaders": str(headers).lower(),
    }
    return spark.readStream.format("kafka").options(**{**source, **SOURCE, **options}).load()


def stored(spark: SparkSession, source: Mapping[str, str], **options: str) -> DataFrame:
    """Return what lies on topics now; `options` say on which, from where, to where."""
    return spark.read.format("kafka").options(**{**source, **SOURCE, **options}).load()

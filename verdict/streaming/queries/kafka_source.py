"""Kafka's records as Spark reads them: committed ones alone, and an error for dropped ones."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import TopicOffsets
from verdict.adapters.spark.session import LOG
from verdict.streaming.exactly_once.checkpoint import starting_offsets
from verdict.wire.progress_record import ProgressRecord

SOURCE = {
    "kafka.isolation.level": "read_committed",
    "failOnDataLoss": "true",
    # Spark gathers what comes while a batch runs. With Kafka's default of 500 ms an isolated
    # command takes a second longer.
    "kafka.fetch.max.wait.ms": "10",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamContext:
    """The context that queries run in."""

    spark: SparkSession
    kafka: KafkaConfig  # to publish
    source: Mapping[str, str] = field(repr=False)  # options to read, passwords among them
    partitions: int  # of each topic that is not in `counts`
    scratch: Path  # a directory for what no restart needs
    counts: Mapping[str, int] = field(default_factory=dict)  # partitions at the start, by topic
    progress: ProgressRecord | None = None  # the decider's, if it could be read without waiting

    def counted(self, topics: Iterable[str]) -> dict[str, int]:
        """Return how many partitions each of the topics has."""
        return {topic: self.counts.get(topic, self.partitions) for topic in topics}

    @property
    def log(self) -> Path:
        """The log file of Spark, its JVM and the Python workers."""
        return self.scratch / LOG


def arriving(
    spark: SparkSession,
    source: Mapping[str, str],
    offsets: TopicOffsets,
    partitions: Mapping[str, int],
    rows: int,
    *,
    headers: bool = False,
) -> DataFrame:
    """Return a stream of the records of topics."""
    options = {
        "subscribe": ",".join(partitions),
        "startingOffsets": starting_offsets(offsets, partitions),
        "maxOffsetsPerTrigger": str(rows),
        "includeHeaders": str(headers).lower(),
    }
    return spark.readStream.format("kafka").options(**{**source, **SOURCE, **options}).load()


def stored(spark: SparkSession, source: Mapping[str, str], **options: str) -> DataFrame:
    """Return the records of topics now; `options` say which, from where, to where."""
    return spark.read.format("kafka").options(**{**source, **SOURCE, **options}).load()

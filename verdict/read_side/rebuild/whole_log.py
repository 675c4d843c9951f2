"""All that a projection follows: from the archive what Kafka has dropped, the rest from Kafka."""

from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from verdict.adapters.kafka.reader import KafkaLog
from verdict.read_side.live.source import KafkaBatches
from verdict.read_side.projections.projection import Projection
from verdict.read_side.tables.position import Positions
from verdict.streaming.event_log.event_log import EventLog
from verdict.streaming.event_log.record import COLUMNS, write_parquet
from verdict.wire.topics import Topics

OF_SPARK = "topic string, partition int, offset bigint, key binary, value binary"


def ends_of(projection: Projection, log: KafkaLog, topics: Topics) -> Positions:
    """Return the end of the log now, of each partition that ever had a record.

    Raises:
        UnreachableError, VerdictError: As for `KafkaLog.places`.
    """
    kept = log.bounds(log.places(projection.topics(topics)))
    return {place: span.end for place, span in kept.items() if span.end > 0}


class WholeLog:
    """The records of a projection's topics from the first one that there ever was.

    Args:
        spark: Reads.
        batches: Reads Kafka on executors.
        events: Knows what Kafka has dropped.
        topics: Of the deployment.
    """

    def __init__(
        self, spark: SparkSession, batches: KafkaBatches, events: EventLog, topics: Topics
    ) -> None:
        self.topics = topics
        self._spark = spark
        self._batches = batches
        self._events = events

    def records(self, projection: Projection, ends: Positions, scratch: Path) -> DataFrame:
        """Return all records before `ends`.

        Raises:
            EventsMissingError: Kafka does not have all of them any more, and the archive has not
                either.
            HashMismatchError: A row of the archive is not what was archived.
        """
        parts = self._events.parts({}, ends)
        # others choose the times of their records, and Spark cannot hold each
        theirs = {place: end for place, end in ends.items() if place.topic in self.topics.states}
        kept = {place: span for place, span in parts.kept.items() if place not in theirs}
        frames = [self._spark.createDataFrame([], OF_SPARK)]
        if any(span.end > span.start for span in kept.values()):
            frames.append(self._batches.records(kept).select(*COLUMNS.names))
        if parts.archived or theirs:
            archived = {place: span.end for place, span in parts.archived.items()}
            write_parquet(self._events.read({}, archived | theirs), scratch / "archived.parquet")
            frames.append(self._spark.read.schema(OF_SPARK).parquet(str(scratch)))
        return reduce(DataFrame.unionAll, frames)

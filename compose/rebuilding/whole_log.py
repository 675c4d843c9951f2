"""All that a projection follows: from the archive what Kafka has dropped, the rest from Kafka."""

from functools import reduce
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from compose.kafka.batches import KafkaBatches
from compose.kafka.log import KafkaLog
from compose.rebuilding.errors import RecordsGone
from compose.sql.archive import Archive
from projections.engine.batch import Partition, Span
from projections.engine.position import Positions
from projections.engine.projection import Projection
from schemas.topics import Topics

PAGE = 5_000  # events that are asked of the archive at a time
COLUMNS = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
    ]
)
OF_SPARK = "topic string, partition int, offset bigint, key binary, value binary"


class WholeLog:
    """The records of a projection's topics from the first one that there ever was.

    Args:
        spark: Reads.
        batches: Reads Kafka on executors.
        log: Knows where Kafka's log begins and ends.
        archive: Of events.
        topics: Of the deployment.
    """

    def __init__(
        self,
        spark: SparkSession,
        batches: KafkaBatches,
        log: KafkaLog,
        archive: Archive,
        topics: Topics,
    ) -> None:
        self.topics = topics
        self._spark = spark
        self._batches = batches
        self._log = log
        self._archive = archive

    def ends(self, projection: Projection) -> Positions:
        """Return the end of the log now, of each partition that ever had a record."""
        places = [
            Partition(topic, number)
            for topic in projection.topics(self.topics)
            for number in range(self._log.partitions(topic))
        ]
        ends = {place: self._log.bounds(*place)[1] for place in places}
        return {place: end for place, end in ends.items() if end > 0}

    def records(self, projection: Projection, ends: Positions, scratch: Path) -> DataFrame:
        """Return all records before `ends`.

        Args:
            projection: Who needs them.
            ends: The next offset of each partition.
            scratch: An empty folder of ours, for what comes from the archive.

        Returns:
            Kafka's columns, `stream.KAFKA_COLUMNS`.

        Raises:
            RecordsGone: Kafka does not have all of them any more, and the archive has not either.
        """
        earliest = {place: min(self._log.bounds(*place)[0], end) for place, end in ends.items()}
        kept = {place: Span(earliest[place], end) for place, end in ends.items()}
        dropped = {place: first for place, first in earliest.items() if first > 0}
        frames = [self._spark.createDataFrame([], OF_SPARK)]
        if any(span.end > span.start for span in kept.values()):
            frames.append(self._batches.records(kept).select(*COLUMNS.names))
        if dropped:
            see_that_it_is_archived(projection, dropped, self._archive)
            self._write_archived(dropped, scratch)
            frames.append(self._spark.read.schema(OF_SPARK).parquet(str(scratch)))
        return reduce(DataFrame.unionAll, frames)

    def _write_archived(self, ends: Positions, folder: Path) -> None:
        with pq.ParquetWriter(folder / "archived.parquet", COLUMNS) as writer:
            for place, end in ends.items():
                records = self._archive.before(*place, end)
                while page := [*islice(records, PAGE)]:
                    offsets, keys, values = map(list, zip(*page, strict=True))
                    topic, number = [place.topic] * len(page), [place.partition] * len(page)
                    columns = [topic, number, offsets, keys, values]
                    writer.write_table(pa.table(columns, schema=COLUMNS))


def see_that_it_is_archived(projection: Projection, dropped: Positions, archive: Archive) -> None:
    """Return when the archive has all that Kafka has dropped of what a projection follows.

    Args:
        projection: Who needs it.
        dropped: The first offset that Kafka has, of partitions that it has cut.
        archive: Of events.

    Raises:
        RecordsGone: Something is nowhere.
    """
    for place, first in dropped.items():
        reached = archive.reached(place.topic).get(place.partition, 0)
        if reached < first:
            raise RecordsGone(projection.name, *place, reached, first)

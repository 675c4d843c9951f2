"""Folds the whole log on Spark's executors: from the archive what Kafka has dropped."""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from verdict.adapters.kafka.reader import KafkaLog
from verdict.read_side.live.decoding import RecordDecoder
from verdict.read_side.projections.projection import Projection, Rebuildable
from verdict.read_side.rebuild.final_rows import ROWS, FinalRows, fold_into_files, schema_of
from verdict.read_side.tables.interventions import Amendments
from verdict.streaming.event_log.event_log import EventLog
from verdict.streaming.event_log.parquet import COLUMNS, write_parquet
from verdict.streaming.queries.kafka_source import stored
from verdict.wire.partitions import PartitionOffsets, Spans
from verdict.wire.skip_record import SkippedRanges
from verdict.wire.topics import Topics

OF_SPARK = "topic string, partition int, offset bigint, key binary, value binary"


def ends_of(projection: Projection, log: KafkaLog, topics: Topics) -> PartitionOffsets:
    """Return the end of the log now, of each partition that ever had a record."""
    kept = log.bounds(log.places(projection.topics(topics)))
    return {place: span.end for place, span in kept.items() if span.end > 0}


@dataclass(frozen=True, slots=True)
class SparkFold:
    """Folds everything before some ends; rows go through files, as they may be more than fits.

    Args:
        spark: Where it is folded.
        source: Options of Spark's Kafka source, `kafka.bootstrap.servers` and security among them.
        passed_over: Records that operators skipped.
        events: The log.
        topics: Of the deployment.
        scratch: A directory for files.
        partitions: Into which the keys are divided.
    """

    spark: SparkSession
    source: Mapping[str, str]
    passed_over: SkippedRanges
    events: EventLog
    topics: Topics
    scratch: Path
    partitions: int

    def __call__(
        self, projection: Rebuildable, ends: PartitionOffsets, in_force: Amendments
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a projection's first table, with the columns of `FinalRows`."""
        archived, folded = self.scratch / "archived", self.scratch / "folded"
        shutil.rmtree(self.scratch, ignore_errors=True)
        for folder in (archived, folded):
            folder.mkdir(parents=True)
        schema = schema_of(projection.tables[0])
        task = FinalRows(RecordDecoder(self.topics), projection.builder, schema, in_force, folded)
        for file in fold_into_files(self._records(ends, archived), task, self.partitions):
            # buffered in advance, Arrow would hold all that was read until the file is closed
            with pq.ParquetFile(file, pre_buffer=False) as parquet:
                yield from parquet.iter_batches(ROWS)
        shutil.rmtree(self.scratch)

    def _records(self, ends: PartitionOffsets, folder: Path) -> DataFrame:
        parts = self.events.parts({}, ends)
        # others choose the times of their records, and Spark cannot hold each
        theirs = {place: end for place, end in ends.items() if place.topic in self.topics.states}
        kept = {place: span for place, span in parts.kept.items() if place not in theirs}
        frames = [self.spark.createDataFrame([], OF_SPARK)]
        if any(span.end > span.start for span in kept.values()):
            frames.append(self._kept(kept).select(*COLUMNS.names))
        if parts.archived or theirs:
            archived = {place: span.end for place, span in parts.archived.items()}
            write_parquet(self.events.read({}, archived | theirs), folder / "archived.parquet")
            frames.append(self.spark.read.schema(OF_SPARK).parquet(str(folder)))
        return reduce(DataFrame.unionAll, frames)

    def _kept(self, spans: Spans) -> DataFrame:
        """Return what Kafka holds in `spans`."""
        assigned: dict[str, list[int]] = {}
        starts: dict[str, dict[str, int]] = {}
        ends: dict[str, dict[str, int]] = {}
        for (topic, number), span in spans.items():
            assigned.setdefault(topic, []).append(number)
            starts.setdefault(topic, {})[str(number)] = span.start
            ends.setdefault(topic, {})[str(number)] = span.end
        options = {
            "assign": json.dumps(assigned),
            "startingOffsets": json.dumps(starts),
            "endingOffsets": json.dumps(ends),
        }
        wanted = f"NOT ({self.passed_over.condition()})"
        return stored(self.spark, self.source, **options).where(wanted)

"""Batches for the projections: Kafka's records between offsets, decoded by Spark."""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import by_topic
from verdict.adapters.spark.gc import collector_paused
from verdict.adapters.spark.record_times import is_time_overflow, read_without_spark
from verdict.read_side.apply.batch import ProjectionBatch
from verdict.read_side.live.stream import (
    PACKED,
    TASK_BYTES,
    BatchTooLargeError,
    decode_batch,
    unpack,
)
from verdict.streaming.queries.source import arriving, stored
from verdict.wire.partitions import Spans, TopicPartition, halves
from verdict.wire.skip_record import NOTHING_PASSED_OVER, SkippedRanges
from verdict.wire.topics import Topics

MOST = 20_000  # offsets at a time, if nothing else is set
BATCHES = 2  # that a part is as large as: what a job of Spark's costs is shared by more
NO_LIMIT = 2**62  # of the bytes of one record, which is bounded by Kafka
FEW = 1000  # offsets that the driver may read without Spark


class KafkaBatches:
    """Reads and decodes on Spark's executors, and hands the records over in pieces that fit."""

    def __init__(
        self,
        spark: SparkSession,
        kafka: Mapping[str, str],
        topics: Topics,
        task_bytes: int = TASK_BYTES,
        passed_over: SkippedRanges = NOTHING_PASSED_OVER,
        clients: KafkaConfig | None = None,
    ) -> None:
        self.most = int(kafka.get("maxOffsetsPerTrigger", MOST))
        self.part = BATCHES * min(self.most, MOST)
        self._spark = spark
        self._kafka = kafka
        # else each job of Spark has a group of its own, for which what was fetched in advance is
        # kept: 500 records of each partition for 5 minutes, until the heap is full
        self._group = {"kafka.group.id": f"verdict-{uuid4()}"}
        self._topics = topics
        self._task_bytes = task_bytes
        self._clients = clients
        self.passed_over = passed_over
        self._wanted = f"NOT ({passed_over.condition()})"

    def stream(self, begin: Mapping[TopicPartition, int]) -> DataFrame:
        """Return what comes, decoded; `begin` has every partition of the topics that it names."""
        offsets = by_topic(begin)
        sizes = {topic: len(found) for topic, found in offsets.items()}
        records = arriving(self._spark, self._kafka, offsets, sizes, self.most)
        return self._decoded(records.where(self._wanted))

    def between(self, spans: Spans) -> Iterator[ProjectionBatch]:
        """Yield what Kafka holds in `spans`, in one batch or several that follow each other."""
        yield from self.batches(self._decoded(self.records(spans)), spans)

    def records(self, spans: Spans) -> DataFrame:
        """Return what Kafka holds in `spans`, not decoded."""
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
        return stored(self._spark, {**self._group, **self._kafka}, **options).where(self._wanted)

    def batches(self, frame: DataFrame, spans: Spans) -> Iterator[ProjectionBatch]:
        """Yield the records of a decoded frame, which is evaluated once, as `between` does."""
        try:
            chunks = frame.toArrow()[PACKED].to_pylist()
        except Exception as error:
            if self._clients is not None and is_time_overflow(error):
                yield from self._with_any_time(self._clients, spans)
            elif BatchTooLargeError.__name__ in str(error):
                for half in halves(spans):
                    limit = NO_LIMIT if _offsets(half) == 1 else None
                    yield from self.batches(self._decoded(self.records(half), limit), half)
            else:
                raise
        else:
            unpacked = map(partial(unpack, self._topics.application), chunks)
            with collector_paused():
                yield ProjectionBatch(chain.from_iterable(unpacked), spans)

    def _with_any_time(self, clients: KafkaConfig, spans: Spans) -> Iterator[ProjectionBatch]:
        """Yield what a batch holds that Spark's reader cannot read; few records at a time."""
        if _offsets(spans) > FEW:
            for half in halves(spans):
                yield from self.between(half)
        else:
            records = read_without_spark(self._spark, clients, spans).where(self._wanted)
            yield from self.batches(self._decoded(records), spans)

    def _decoded(self, records: DataFrame, task_bytes: int | None = None) -> DataFrame:
        return decode_batch(records, self._topics, task_bytes or self._task_bytes)


def _offsets(spans: Spans) -> int:
    return sum(span.end - span.start for span in spans.values())

"""The position of the decider without its progress record, from its responses.

Every command has exactly one response or dead letter, published with those of all earlier commands
of its partition. So the progress record was at the last command that has one. Any program can write
to `dead-letters`: only dead letters with our headers count, about commands that Kafka has or had.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, replace
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from verdict.adapters.kafka.offsets import Offsets, starts
from verdict.adapters.kafka.reader import KafkaLog
from verdict.errors import VerdictError
from verdict.model.source import Source
from verdict.streaming.exactly_once.fencing import genesis
from verdict.streaming.exactly_once.query import Query
from verdict.streaming.exactly_once.read_progress import holds_records
from verdict.streaming.queries.kafka_source import StreamContext, stored
from verdict.wire.cloud_events import DEAD_LETTER
from verdict.wire.codec import DecodeError
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.partitions import OffsetRange, Spans, TopicPartition
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.records import decode
from verdict.wire.response import Response
from verdict.wire.topics import Topics
from verdict.write_side.decider_query.generation import newest_generation
from verdict.write_side.processor.spark_plan import header
from verdict.write_side.recovery.histories import Unanswered

ANSWER = "topic", "value", "type"
ANSWERED = pa.schema([("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())])


def progress_from_responses(
    ground: StreamContext, query: Query, topics: Topics, data_dir: Path
) -> ProgressRecord:
    """Return a progress record in place of the lost one, as far as a recovery needs it.

    Its number of shards is that of the settings: a recovery can choose any.
    """
    if not holds_records(ground.kafka, query.outputs):
        raise VerdictError(
            f"there is nothing to recover: {query.progress_topic} has no progress record of "
            f"{query.name}, and {', '.join(query.outputs)} are empty; start with `verdict up`"
        )
    offsets = answered_offsets(ground, topics, query.inputs)
    lost = genesis(query, None, offsets, query.first_shards)
    return replace(lost, generation=newest_generation(data_dir))


def answered_offsets(ground: StreamContext, topics: Topics, commands: Iterable[str]) -> Offsets:
    """Return the offsets after which no command has a response, by topic."""
    with KafkaLog(ground.kafka.settings, ground.kafka.transaction_timeout_s) as log:
        kept = log.bounds(log.places(commands))
    offsets = starts(kept)
    last = _answers(ground, topics, kept).groupBy("topic", "partition").agg(F.max("offset"))
    for topic, partition, offset in last.collect():
        offsets[topic][partition] = max(offsets[topic][partition], offset + 1)
    return offsets


def unanswered(ground: StreamContext, topics: Topics, decided: Offsets) -> Unanswered:
    """Return the decided commands whose response is lost, and offsets that Kafka uses itself."""
    commands = topics.every_commands()
    ends = {
        TopicPartition(topic, number): end
        for topic in commands
        for number, end in enumerate(decided.get(topic, ()))
    }
    found = _answers(ground, topics, {place: OffsetRange(0, end) for place, end in ends.items()})
    return gaps(found, ends)


def gaps(found: DataFrame, ends: Mapping[TopicPartition, int]) -> Unanswered:
    """Return the offsets before `ends` that are not among those found, by partition."""
    limits = found.sparkSession.createDataFrame(
        [(*at, end) for at, end in ends.items()], found.schema
    )
    order = Window.partitionBy("topic", "partition").orderBy("offset")
    every = found.union(limits).withColumn("before", F.lag("offset", 1, -1).over(order))
    lacking: dict[TopicPartition, list[OffsetRange]] = {place: [] for place in ends}
    for row in every.where("offset > before + 1").sort("topic", "partition", "offset").collect():
        place = TopicPartition(row.topic, row.partition)
        lacking[place].append(OffsetRange(row.before + 1, row.offset))
    return lacking


def _answers(ground: StreamContext, topics: Topics, kept: Spans) -> DataFrame:
    """Return topic, partition and offset of the commands that have a response or dead letter."""
    answers = [topics.dead_letters, *map(topics.responses, topics.application.aggregate_types)]
    records = stored(
        ground.spark, ground.source, subscribe=",".join(answers), includeHeaders="true"
    )
    columns = records.select("topic", "value", header("ce_type").alias("type"))
    return columns.mapInArrow(partial(sources, topics, kept), from_arrow_schema(ANSWERED))


def sources(
    topics: Topics, kept: Spans, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the commands that have a response or dead letter; this runs on the executors."""
    for batch in batches:
        answers = zip(*(batch.column(name).to_pylist() for name in ANSWER), strict=True)
        found = [
            astuple(source)
            for source in (_source(topics, *answer) for answer in answers)
            if source is not None
            and (span := kept.get(TopicPartition.of(source))) is not None
            and source.offset < span.end
        ]
        columns = [*zip(*found, strict=True)] if found else [()] * len(ANSWERED)
        yield pa.RecordBatch.from_arrays(columns, schema=ANSWERED)


def _source(topics: Topics, topic: str, value: bytes | None, kind: bytes | None) -> Source | None:
    """Return the command's position; None for another's dead letter or an unreadable response.

    The fold reports that response.
    """
    try:
        if topic != topics.dead_letters:
            return decode(Response, value or b"").source
        return decode(DeadLetter, value or b"").source if kind == DEAD_LETTER.encode() else None
    except DecodeError:
        return None

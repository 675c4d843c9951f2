"""The position of the decider without its marker: what it has answered tells how far it came.

Every command has exactly one response or dead letter, published with those of all commands before
it in its partition; so the last one that is answered is where the marker was.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import functions as F

from verdict.application import current
from verdict.decider.generation import newest_generation
from verdict.errors import VerdictError
from verdict.exactly_once.markers import first_offsets, holds_records
from verdict.exactly_once.owner import genesis
from verdict.exactly_once.query import Query
from verdict.model.source import Source
from verdict.spark.source import Ground, stored
from verdict.wire.codec import Undecodable
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.marker import Marker
from verdict.wire.records import decode
from verdict.wire.response import Response
from verdict.wire.topics import Topics

ANSWERED = "topic string, partition int, next bigint"


def marker_from_answers(ground: Ground, query: Query, topics: Topics, data_dir: Path) -> Marker:
    """Return a marker like the one that is lost, as far as a recovery needs it.

    Its shard count is the setting's: a recovery may choose any.

    Raises:
        VerdictError: Nothing was ever published, so there is nothing to recover.
        Unreachable: Kafka does not answer.
    """
    if not holds_records(ground.kafka, query.outputs):
        raise VerdictError(
            f"there is nothing to recover: {query.markers} has no marker of {query.name}, and "
            f"{', '.join(query.outputs)} are empty; start with `verdict up`"
        )
    offsets = first_offsets(ground.kafka, query.inputs)
    for topic, partition, following in _answered(ground, topics):
        if topic in offsets and partition < len(offsets[topic]):
            offsets[topic][partition] = max(offsets[topic][partition], following)
    lost = genesis(query, None, offsets, query.first_shards)
    return replace(lost, generation=newest_generation(data_dir))


def _answered(ground: Ground, topics: Topics) -> list[tuple[str, int, int]]:
    """Return (topic, partition, next offset) of the commands that have an answer."""
    answers = [topics.dead_letters, *map(topics.responses, current().aggregate_types)]
    records = stored(ground.spark, ground.source, subscribe=",".join(answers))
    last = (
        records.select("topic", "value")
        .mapInArrow(partial(_sources, topics), ANSWERED)
        .groupBy("topic", "partition")
        .agg(F.max("next"))
    )
    return [tuple(row) for row in last.collect()]


def _sources(topics: Topics, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return which commands were answered; this runs on the executors."""
    for batch in batches:
        columns = batch.column("topic").to_pylist(), batch.column("value").to_pylist()
        sources = [_source(topics, topic, value) for topic, value in zip(*columns, strict=True)]
        found = [source for source in sources if source is not None]
        yield pa.RecordBatch.from_pydict(
            {
                "topic": pa.array([source.topic for source in found], pa.string()),
                "partition": pa.array([source.partition for source in found], pa.int32()),
                "next": pa.array([source.offset + 1 for source in found], pa.int64()),
            }
        )


def _source(topics: Topics, topic: str, value: bytes | None) -> Source | None:
    """Return which record was answered, None for a letter of somebody else's or a response that
    cannot be read: the fold names that one."""
    try:
        if topic == topics.dead_letters:
            return decode(DeadLetter, value or b"").source
        return decode(Response, value or b"").source
    except Undecodable:
        return None

"""Why Spark's JVM has ended, and what to do about it."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import by_topic, each_partition
from verdict.adapters.kafka.oversized import OversizedRecord, oversized_records
from verdict.adapters.kafka.reader import KafkaLog
from verdict.errors import UnreachableError, VerdictError
from verdict.read_side.schema.database import failing_in_words, snapshot
from verdict.read_side.tables import position, versions
from verdict.read_side.tables.same_log import database_if_any
from verdict.service.queries import queries_of
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.read_progress import read_progress
from verdict.wire.partitions import TopicPartition

LOG = logging.getLogger("verdict.kafka")
OUT_OF_MEMORY = 52  # with which Spark ends itself then
SEARCH_S = 20.0  # a busy machine takes ten to unpack 400 MB


def jvm_ended(code: int, settings: Settings, kafka: KafkaConfig, log: Path) -> VerdictError:
    """Return the error of a JVM that ended with `code`, and whose log is `log`.

    If it ran out of memory, look for some seconds for a record that unpacks to hundreds of times
    its size: each start would end at it again.
    """
    found = _oversized(settings, kafka) if code == OUT_OF_MEMORY else []
    return VerdictError(_message(code, found, settings, log))


def _message(code: int, found: Sequence[OversizedRecord], settings: Settings, log: Path) -> str:
    if not found:
        return (
            f"the JVM of Spark ended with {code}: see whether the system ended it for want of "
            f"memory, and the end of {log}, then start again; nothing is lost"
        )
    more = f"give the JVM several times that with driver_memory, now {settings.driver_memory}"
    passable = {*settings.topics.every_commands(), *settings.topics.inbound, settings.topics.retry}
    skips = [str(one.source) for one in found if one.source.topic in passable]
    if len(skips) == len(found):
        more = f"skip it with `verdict skip {' '.join(skips)} --reason '…'`, or {more}"
    return (
        f"the JVM of Spark ran out of memory (it ended with {code}): {'; '.join(map(str, found))}; "
        f"each start would meet that again, nothing is lost: {more}"
    )


def _oversized(settings: Settings, kafka: KafkaConfig) -> list[OversizedRecord]:
    """Return those among the records that Spark was about to read."""
    try:
        reached = _reached(settings, kafka)
        topics = {place.topic for place in reached}.union(settings.topics.states)
        with KafkaLog(kafka.settings, SEARCH_S) as log:
            starts = by_topic({place: reached.get(place, 0) for place in log.places(topics)})
        return oversized_records(kafka, starts, settings.max_rows_per_batch, SEARCH_S)
    except VerdictError as error:
        LOG.error("what the JVM was reading cannot be looked at: %s", error)
        return []


def _reached(settings: Settings, kafka: KafkaConfig) -> dict[TopicPartition, int]:
    """Return the smallest next offset that any reader has of each partition."""
    reached: dict[TopicPartition, int] = {}
    for place, offset in (*_of_progress(settings, kafka), *_of_read_side(settings)):
        reached[place] = min(offset, reached.get(place, offset))
    return reached


def _of_progress(settings: Settings, kafka: KafkaConfig) -> Iterator[tuple[TopicPartition, int]]:
    for query in queries_of(settings):
        progress = read_progress(kafka, query, wait=False).progress
        if progress is not None:
            yield from each_partition(progress.offsets)


def _of_read_side(settings: Settings) -> Iterator[tuple[TopicPartition, int]]:
    try:
        with database_if_any(settings) as engine:
            if engine is None:
                return
            with failing_in_words(engine), snapshot(engine) as connection:
                live = {*versions.all_live(connection).items()}
                found = position.every(connection) if live else []
    except UnreachableError:  # then nothing is read for it
        return
    for name, version, place, offset in found:
        if (name, version) in live:
            yield place, offset

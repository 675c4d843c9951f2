"""Why Spark's JVM has ended, and what to do about it."""

import logging
from collections.abc import Sequence
from pathlib import Path

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import by_topic, each_partition
from verdict.adapters.kafka.oversized import OversizedRecord, oversized_records
from verdict.errors import VerdictError
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
    reached: dict[TopicPartition, int] = {}  # the smallest next offset that any query has
    try:
        for query in queries_of(settings):
            progress = read_progress(kafka, query, wait=False).progress
            for place, offset in () if progress is None else each_partition(progress.offsets):
                reached[place] = min(offset, reached.get(place, offset))
        starts = by_topic(reached)
        return oversized_records(kafka, starts, settings.max_rows_per_batch, SEARCH_S)
    except VerdictError as error:
        LOG.error("what the JVM was reading cannot be looked at: %s", error)
        return []

"""Reads a query's progress record: its last committed record in the progress topic."""

from collections.abc import Collection
from typing import NamedTuple

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import Offsets, starts
from verdict.adapters.kafka.reader import KafkaLog
from verdict.streaming.exactly_once.errors import UnreadableProgressRecordError
from verdict.streaming.exactly_once.query import Query
from verdict.wire.codec import DecodeError
from verdict.wire.partitions import Spans
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.records import decode


class SeenRecord(NamedTuple):
    """A query's progress record, if it has one.

    `settled` is False if an open transaction was in the way, which may hide a newer progress.
    """

    progress: ProgressRecord | None
    settled: bool


def read_progress(kafka: KafkaConfig, query: Query, *, wait: bool) -> SeenRecord:
    """Return the query's newest progress record, without fencing anything.

    Queries share the progress topic, and nothing after an open transaction can be read: with `wait`
    such a transaction is waited for. Something else in its place raises
    UnreadableProgressRecordError.
    """
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s * (2 if wait else 1)) as log:
        return read_progress_in(log, query, wait=wait)


def read_progress_in(log: KafkaLog, query: Query, *, wait: bool = False) -> SeenRecord:
    """Do what `read_progress` does, with an open reader."""
    place = log.places([query.progress_topic])[0]  # an added partition stays empty
    what = f"the progress record of {query.name} cannot be read"
    written = log.await_settled([place], what) if wait else log.written([place])
    kept = log.bounds([place])[place]
    last = log.last(place, kept, lambda message: message.key() == query.key)
    progress = None if last is None else _decoded(query, last.value())
    return SeenRecord(progress, settled=kept.end >= written[place])


def readable_progress(
    kafka: KafkaConfig, query: Query, *, wait: bool = False
) -> ProgressRecord | None:
    """Return the query's progress record; None if there is none, or something else in its place."""
    try:
        if wait:
            return read_progress(kafka, query, wait=True).progress
        return read_progress_now(kafka, query)
    except UnreadableProgressRecordError:
        return None


def read_progress_now(kafka: KafkaConfig, query: Query) -> ProgressRecord | None:
    """Return the query's newest committed progress; None if there is none, or no such topic."""
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        return decode_progress(log, query)


def decode_progress(log: KafkaLog, query: Query) -> ProgressRecord | None:
    """Do what `read_progress_now` does, with an open reader."""
    return read_progress_in(log, query).progress if log.exists(query.progress_topic) else None


def holds_records(kafka: KafkaConfig, topics: Collection[str]) -> bool:
    """Return whether any of `topics` holds a committed record, or held one that was deleted."""
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        kept = log.bounds(log.places(topics))
        if any(span.start for span in kept.values()):
            return True
        return next(log.read(kept), None) is not None  # aborted records take offsets, too


def first_offsets(kafka: KafkaConfig, topics: Collection[str]) -> Offsets:
    """Return the first offset that Kafka still holds, by partition, of each topic."""
    return starts(bounds_of(kafka, topics))


def bounds_of(kafka: KafkaConfig, topics: Collection[str]) -> Spans:
    """Return which offsets of committed records the partitions of topics hold."""
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        return log.bounds(log.places(topics))


def _decoded(query: Query, value: bytes | str | None) -> ProgressRecord | None:
    if value is None:
        return None  # a tombstone: somebody has deleted the progress record
    try:
        return decode(ProgressRecord, value if isinstance(value, bytes) else value.encode())
    except DecodeError as error:
        raise UnreadableProgressRecordError(
            f"the last record of {query.progress_topic} under the key {query.name!r} is no "
            f"progress record ({error}): see who wrote it, then run {query.remedy}"
        ) from error

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

    Queries share the progress topic, and nothing after an open transaction can be read.

    Raises:
        UnreadableProgressRecordError: There is something else in its place.
        VerdictError: The progress topic does not exist.
    """
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s * (2 if wait else 1)) as log:
        return read_progress_in(log, query, wait=wait)


def read_progress_in(log: KafkaLog, query: Query, *, wait: bool = False) -> SeenRecord:
    """Do what `read_progress` does, with a reader that is there already."""
    place = log.places([query.progress_topic])[0]  # none is ever written to one that was added
    places = [place]
    what = f"the progress record of {query.name} cannot be read"
    written = log.await_settled(places, what) if wait else log.written(places)
    kept = log.bounds(places)[place]
    last = log.last(place, kept, lambda message: message.key() == query.key)
    progress = None if last is None else _decoded(query, last.value())
    return SeenRecord(progress, settled=kept.end >= written[place])


def readable_progress(
    kafka: KafkaConfig, query: Query, *, wait: bool = False
) -> ProgressRecord | None:
    """Return the query's progress record; None if there is none, or something else in its place."""
    try:
        return (
            read_progress(kafka, query, wait=True).progress
            if wait
            else read_progress_now(kafka, query)
        )
    except UnreadableProgressRecordError:
        return None


def read_progress_now(kafka: KafkaConfig, query: Query) -> ProgressRecord | None:
    """Return the query's newest committed progress; None if there is none, or no such topic."""
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        return decode_progress(log, query)


def decode_progress(log: KafkaLog, query: Query) -> ProgressRecord | None:
    """Do what `read_progress_now` does, with a reader that is there already."""
    return read_progress_in(log, query).progress if log.exists(query.progress_topic) else None


def holds_records(kafka: KafkaConfig, topics: tuple[str, ...]) -> bool:
    """Tell whether any of `topics` holds a committed record, or held one that was deleted."""
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        kept = log.bounds(log.places(topics))
        if any(span.start for span in kept.values()):
            return True
        # offsets alone do not tell: aborted records take some, too
        return next(log.read(kept), None) is not None


def first_offsets(kafka: KafkaConfig, topics: Collection[str]) -> Offsets:
    """Return the first offset that Kafka still holds, by partition, of each topic."""
    return starts(bounds_of(kafka, topics))


def bounds_of(kafka: KafkaConfig, topics: Collection[str]) -> Spans:
    """Return from where to where the partitions of topics hold committed records."""
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

"""The log: all events that there ever were, from the archive as far as it reaches, then from Kafka.

How far the archive reaches is asked for before it is read, so nothing is missing between the two.
When Kafka drops records before they are read, the archive is asked again. What neither has raises
`EventsMissingError`.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from heapq import merge
from itertools import groupby

from verdict.adapters.kafka.errors import RecordsDroppedError, TopicMissingError
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.kafka.topic_drift import as_begun
from verdict.adapters.sql.readers.reader import open_reader
from verdict.errors import UnreachableError, VerdictError
from verdict.settings.discovery import kafka_options
from verdict.settings.settings import Settings
from verdict.streaming.event_log.archive import Archive, ArchivePosition
from verdict.streaming.event_log.record import (
    PositionedEvent,
    RawRecord,
    positioned_event,
    raw_record,
)
from verdict.streaming.event_log.skip_log import accepted_in, accepted_partitions, reader_skipping
from verdict.streaming.exactly_once.failpoints import ProgressCallback
from verdict.streaming.exactly_once.query import decider_query
from verdict.streaming.exactly_once.read_progress import decode_progress
from verdict.wire.catalog import catalog_of
from verdict.wire.partitions import OffsetRange, PartitionOffsets, TopicPartition, partition_of
from verdict.wire.topics import Topics

LOG = logging.getLogger("verdict.streaming.event_log")


class EventsMissingError(VerdictError):
    """Records of `place` before the offset `earliest` are neither in Kafka nor archived."""

    def __init__(
        self,
        place: TopicPartition,
        reached: int,
        earliest: int,
        without: UnreachableError | None = None,
    ) -> None:
        self.place, self.earliest = place, earliest
        archive = f" (there is no archive: {without})" if without else ""
        super().__init__(
            f"records of {place} are archived up to offset {reached}"
            f"{archive} and Kafka has them from {earliest} only, so some could be missing: name "
            "the read side whose archive has them with --database-url; else what is between is "
            "lost, so give the topic unlimited retention, or more than the archive is ever behind"
        )


class EventLog:
    """Reads events, and other topics of which Kafka drops nothing.

    `log` and `archive` are called when they are needed first; `archive` may raise
    UnreachableError, and `tell` then gets the reason. `log` reads one thing at a time.
    """

    def __init__(
        self,
        topics: Topics,
        log: Callable[[], KafkaLog],
        archive: Callable[[], Archive],
        tell: ProgressCallback = LOG.warning,
    ) -> None:
        self._topics = topics
        self._catalog = catalog_of(topics.application)
        self._log = log
        self.archive = archive
        self._tell = tell
        self._without: UnreachableError | None = None

    def answered(self, aggregate_type: str, aggregate_id: str) -> int:
        """Return the last version of an aggregate that an outcome in SQL names."""
        archive = self._archive()
        return 0 if archive is None else archive.answered(aggregate_type, aggregate_id)

    def read(self, starts: PartitionOffsets, ends: PartitionOffsets) -> Iterator[RawRecord]:
        """Yield the records from some offsets (else 0) up to others, each partition's in order.

        Raises EventsMissingError, or HashMismatchError if a row of the archive was altered.
        """
        reached = dict(starts)
        while True:
            try:
                for record in self._read(reached, ends):
                    yield record
                    reached[TopicPartition.of(record)] = record.offset + 1
                return
            except RecordsDroppedError:
                continue  # they are archived, or missing

    def history(self, aggregate_type: str, aggregate_id: str) -> Iterator[PositionedEvent]:
        """Yield an aggregate's events in order, some perhaps twice.

        If Kafka has dropped what is not archived, that could be events of it: EventsMissingError.
        If more is archived than Kafka ever had, it is another Kafka: TopicMissingError.
        """
        topic, key = self._topics.events(aggregate_type), aggregate_id.encode()
        context = self._catalog[aggregate_type]
        while True:
            archive, standing = self._standing()
            if archive is not None:
                yield from archive.history(context, aggregate_id)
            place = record_of_key(self._log(), self._topics, topic, key)
            try:
                for found in self.behind({place: standing.reached.get(place, 0)}):
                    if found.key == key:
                        yield positioned_event(context, found)
                return
            except RecordsDroppedError as dropped:
                self.require_archived(place, dropped.earliest)

    def every(self, aggregate_type: str) -> Iterator[tuple[str, Iterator[PositionedEvent]]]:
        """Yield each aggregate's id and events in order, some perhaps twice, sorted by id.

        What the archive lacks is read from Kafka first, and kept in memory.
        """
        topic, context = self._topics.events(aggregate_type), self._catalog[aggregate_type]
        places = self._log().places([topic])
        while True:
            archive, standing = self._standing()
            found = self.behind({place: standing.reached.get(place, 0) for place in places})
            try:
                behind = [positioned_event(context, record) for record in found]
                break
            except RecordsDroppedError as dropped:
                self.require_archived(dropped.place, dropped.earliest)
        archived = iter(()) if archive is None else archive.every(context, standing.last)
        both = merge(archived, sorted(behind, key=_order), key=_order)
        yield from groupby(both, key=lambda found: found.aggregate_id)

    def behind(self, starts: PartitionOffsets, follow: bool = False) -> Iterator[RawRecord]:
        """Yield what Kafka has from some offsets on, until now or without end.

        Raises RecordsDroppedError if Kafka has dropped some of it, and TopicMissingError if an
        offset is after the end of its partition.
        """
        spans = {}
        for place, kept in self._log().bounds(starts).items():
            spans[place] = OffsetRange(starts[place], kept.end)
            if starts[place] < kept.start:
                raise RecordsDroppedError(*place, starts[place], kept.start)
            if starts[place] > kept.end:
                raise TopicMissingError(*place, starts[place], kept.end)
        yield from map(raw_record, self._log().read(spans, follow))

    def require_archived(self, place: TopicPartition, earliest: int) -> None:
        """Raise EventsMissingError unless all of a partition before an offset is archived."""
        _, standing = self._standing()
        if (reached := standing.reached.get(place, 0)) < earliest:
            raise EventsMissingError(place, reached, earliest, self._without)

    def _read(self, starts: PartitionOffsets, ends: PartitionOffsets) -> Iterator[RawRecord]:
        archived, kept = {}, {}
        for place, span in self._log().bounds(ends).items():
            end = ends[place]
            start = min(starts.get(place, 0), end)
            first = min(max(span.start, start), end)
            # states are not archived: others decide how long Kafka keeps them
            if start < first and place.topic not in self._topics.states:
                self.require_archived(place, first)
                archived[place] = OffsetRange(start, first)
            kept[place] = OffsetRange(first, end)
        for place, span in archived.items():
            for row in self.archive().rows(*place, span.start, span.end):
                yield row.record()
        yield from map(raw_record, self._log().read(kept))

    def _standing(self) -> tuple[Archive | None, ArchivePosition]:
        archive = self._archive()
        return archive, ArchivePosition({}, 0) if archive is None else archive.standing()

    def _archive(self) -> Archive | None:
        if self._without is None:
            try:
                return self.archive()
            except UnreachableError as error:
                self._without = error
                self._tell(f"reading from Kafka only, without an archive: {error}")
        return None


def _order(found: PositionedEvent) -> tuple[str, int]:
    return found.aggregate_id, found.version


def record_of_key(log: KafkaLog, topics: Topics, topic: str, key: bytes) -> TopicPartition:
    """Return the partition of a topic of the deployment that has a key's records.

    What verdict writes stays in the first partitions; commands go to all that there are.
    """
    count = len(log.places([topic]))
    if topic in topics.outputs() and count != topics.partitions:
        # somebody added some, or the setting is not that of the service
        try:
            progress = decode_progress(log, decider_query(topics, 1))
        except UnreachableError:
            raise
        except VerdictError:  # it is damaged, which all who depend on it report
            progress = None
        decided = progress.offsets if progress else {}
        begun = as_begun(topics, decided, accepted_partitions(accepted_in(log, topics)))
        count = min(count, begun.partitions)
    return TopicPartition(topic, partition_of(key, count))


def open_event_log(
    settings: Settings,
    parts: ExitStack,
    log: KafkaLog | None = None,
    tell: ProgressCallback = LOG.warning,
) -> EventLog:
    """Return the log of a deployment without what operators skipped; it opens what it needs."""

    @cache
    def kafka() -> KafkaLog:
        return log or parts.enter_context(reader_skipping(kafka_options(settings), settings.topics))

    @cache
    def archive() -> Archive:
        return Archive(parts.enter_context(open_reader(settings)))

    return EventLog(settings.topics, kafka, archive, tell)

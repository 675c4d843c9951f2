"""Follows events from any position, each once: the archive as far as it reaches, then Kafka.

The archive moves its position in the transaction that appends the events, so one query gives the
rows and the offsets from which Kafka has to be read.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from verdict.adapters.kafka.errors import RecordsDroppedError
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.sql.readers.reader import Reader, open_reader
from verdict.errors import VerdictError
from verdict.model.application import Application
from verdict.model.recorded_event import RecordedEvent
from verdict.settings.discovery import kafka_options
from verdict.settings.load import load_settings
from verdict.settings.settings import Settings
from verdict.streaming.event_log.archive import Archive
from verdict.streaming.event_log.event_log import EventLog
from verdict.streaming.event_log.record import RawRecord
from verdict.streaming.event_log.skip_log import reader_skipping
from verdict.wire.catalog import catalog_of
from verdict.wire.partitions import PartitionOffsets, TopicPartition
from verdict.wire.records import decode_event
from verdict.wire.topics import Topics


class SubscribedEvent(NamedTuple):
    """An event and its position in Kafka; `position` is None while it is not archived."""

    event: RecordedEvent
    place: TopicPartition
    offset: int
    position: int | None


@contextmanager
def subscribe(
    application: Application,
    category: str | None = None,
    from_position: int | PartitionOffsets = 0,
    settings: Settings | None = None,
) -> Iterator["Subscription"]:
    """Give a subscription to the deployment that settings name, as the command line finds it.

    Args:
        application: Whose events.
        category: An aggregate type, None for all.
        from_position: After this global position; or from `places`, as they were kept.
        settings: From `load_settings`; None: those of the environment, `.env` and `verdict.toml`.

    Raises:
        VerdictError: A setting is wrong, or there is no such category.
    """
    known = settings or load_settings(application)
    options = kafka_options(known)
    with open_reader(known) as reader, reader_skipping(options, known.topics) as log:
        yield Subscription(reader, log, known.topics, category, from_position)


class Subscription:
    """The events of one category, or of all, in the order of each partition.

    An aggregate's events are in the order of their versions. To go on later, keep `places`, in the
    transaction that keeps what you made of the events. `subscribe` makes one.
    """

    def __init__(
        self,
        reader: Reader,
        log: KafkaLog,
        topics: Topics,
        category: str | None = None,
        from_position: int | PartitionOffsets = 0,
    ) -> None:
        self._archive = Archive(reader)
        self._log = log
        self._events = EventLog(topics, lambda: log, lambda: self._archive)
        self._followed = {topics.events(name): name for name in _followed(topics, category)}
        self._catalog = catalog_of(topics.application)
        self._places: dict[TopicPartition, int] = (
            self._behind(from_position) if isinstance(from_position, int) else dict(from_position)
        )

    @property
    def places(self) -> PartitionOffsets:
        """The next offset of each partition."""
        return dict(self._places)

    def events(self, follow: bool = True) -> Iterator[SubscribedEvent]:
        """Yield the events: with `follow` without end, else to Kafka's end when the archive ends.

        Raises:
            EventsMissingError: Kafka has dropped what is not archived.
            HashMismatchError: A row of the archive is not what was archived.
            VerdictError: Kafka ends before what has been read: it is another one than before.
        """
        while True:
            ends = yield from self._all_archived()
            try:
                yield from self._from_kafka(ends, follow)
                return
            except RecordsDroppedError as dropped:
                self._events.require_archived(dropped.place, dropped.earliest)

    def _all_archived(self) -> Generator[SubscribedEvent, None, PartitionOffsets]:
        """Yield what is archived, and return from where on Kafka must be read."""
        after = self._first_after()
        while True:
            ends, last = self._archive.standing()
            if after >= last:
                return ends
            yield from self._archived(after, last)
            after = last

    def _behind(self, position: int) -> dict[TopicPartition, int]:
        """Return the next offset of each followed partition after a global position."""
        if position <= 0:
            return {}
        ends, _ = self._archive.standing()
        behind = {
            place: self._archive.end_at_position(place, position)
            for place in self._of_followed(ends)
        }
        return {place: offset for place, offset in behind.items() if offset > 0}

    def _of_followed(self, places: Iterable[TopicPartition]) -> Iterator[TopicPartition]:
        return (place for place in places if place.topic in self._followed)

    def _first_after(self) -> int:
        """Return the position after which all is that `places` have not reached."""
        ends, last = self._archive.standing()
        found = [
            self._archive.first_from(place, self._places.get(place, 0))
            for place in self._of_followed({*ends, *self._places})
        ]
        return min((first for first in found if first is not None), default=last + 1) - 1

    def _archived(self, after: int, last: int) -> Iterator[SubscribedEvent]:
        for row in self._archive.positions(after, last):
            place = TopicPartition(row.topic, row.partition)
            if row.topic in self._followed and row.offset >= self._places.get(place, 0):
                value = row.record().value or b""
                self._places[place] = row.offset + 1
                event = decode_event(self._catalog[row.aggregate_type], value)
                yield SubscribedEvent(event, place, row.offset, row.global_position)

    def _from_kafka(self, ends: PartitionOffsets, follow: bool) -> Iterator[SubscribedEvent]:
        starts = {
            place: max(ends.get(place, 0), self._places.get(place, 0))
            for place in self._log.places(self._followed)
        }
        for found in self._events.behind(starts, follow):
            place, event = TopicPartition(found.topic, found.partition), self._event(found)
            self._places[place] = found.offset + 1
            yield SubscribedEvent(event, place, found.offset, None)

    def _event(self, found: RawRecord) -> RecordedEvent:
        try:
            return decode_event(self._catalog[self._followed[found.topic]], found.value or b"")
        except ValueError as error:
            place = found.source
            raise VerdictError(
                f"{place} cannot be read as an event ({error}): look at it with `verdict tail "
                f"events --from {place.partition}:{place.offset}`; if it is none, skip it with "
                f"`verdict skip {place} --reason …`, and subscribe again from the same places"
            ) from error


def _followed(topics: Topics, category: str | None) -> Sequence[str]:
    known = topics.application.aggregate_types
    if category is None:
        return known
    if category not in known:
        raise VerdictError(f"there is no category {category!r}: there are {', '.join(known)}")
    return [category]

"""Follows events from any position: the archive as far as it goes, then Kafka, each event once.

The archive moves its position in the transaction that appends the events, so one query tells both:
which rows there are, and from which offsets on Kafka has to be read. It does not matter what Kafka
has dropped before those; when it drops more before that is read, the archive is asked again.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from confluent_kafka import Message

from verdict.application import current
from verdict.configuration.found import bootstrap_servers
from verdict.configuration.kafka import librdkafka_options
from verdict.configuration.loading import load_settings
from verdict.configuration.settings import Settings
from verdict.errors import VerdictError
from verdict.event_log.archive import Archive
from verdict.event_log.archive_position import ArchivePosition
from verdict.event_log.decisions import honouring
from verdict.event_log.event_log import Gone
from verdict.kafka.errors import NotThereYet, RecordsDropped
from verdict.kafka.log import KafkaLog
from verdict.model.recorded_event import RecordedEvent
from verdict.reading.reader import Reader, reader_of
from verdict.wire.records import decode_event
from verdict.wire.spans import Partition, Span, Spans
from verdict.wire.topics import Topics

STANDING = """
SELECT p.topic, p."partition", p.next_offset, (SELECT max(global_position) FROM event_archive)
FROM projection_position p JOIN projection_live l
ON l.projection = p.projection AND l.version = p.version
WHERE p.projection = 'event_archive'
"""
FIRST = """
SELECT min(global_position) FROM event_archive
WHERE topic = :topic AND "partition" = :partition AND "offset" >= :offset
"""


Place = Partition
Places = Mapping[Place, int]
"""The next offset of each partition of a topic of events.

JSON has no such keys: keep `[[*place, offset] for place, offset in places.items()]`, and read
`{Place(topic, number): offset for topic, number, offset in kept}`.
"""


class Followed(NamedTuple):
    """An event and where it lies; `position` is None while it is not archived."""

    event: RecordedEvent
    place: Place
    offset: int
    position: int | None


@contextmanager
def subscribe(
    category: str | None = None,
    from_position: int | Places = 0,
    settings: Settings | None = None,
) -> Iterator["Subscription"]:
    """Give a subscription to the deployment that settings name, as the command line finds it.

    Args:
        category: An aggregate type, None for all.
        from_position: After this global position; or from `places`, as they were kept.
        settings: From `load_settings`; None: those of the environment, `.env` and `verdict.toml`.

    Raises:
        Unreachable: Kafka or the database does not answer, or nothing says where they are.
        VerdictError: A setting is wrong, or there is no such category.
    """
    known = settings or load_settings()
    options = librdkafka_options(known) | {"bootstrap.servers": bootstrap_servers(known)}
    with reader_of(known) as reader, honouring(options, known.topics) as log:
        yield Subscription(reader, log, known.topics, category, from_position)


class Subscription:
    """The events of one category, or of all, in the order of each partition.

    An aggregate's events are in the order of their versions. To go on later, keep `places`, in the
    transaction that keeps what you made of the events.

    Args:
        reader: Of the read side.
        log: Of Kafka.
        topics: Of the deployment.
        category: An aggregate type, None for all.
        from_position: After this global position; or from `places`, as they were kept.

    Raises:
        Unreachable: The database does not answer.
        VerdictError: There is no such category.
    """

    def __init__(
        self,
        reader: Reader,
        log: KafkaLog,
        topics: Topics,
        category: str | None = None,
        from_position: int | Places = 0,
    ) -> None:
        self._reader = reader
        self._log = log
        self._topics = topics
        self._followed = {topics.events(name): name for name in _followed(category)}
        self._from = from_position
        self._places: dict[Place, int] = (
            self._behind(from_position) if isinstance(from_position, int) else dict(from_position)
        )

    @property
    def places(self) -> Places:
        """The next offset of each partition, behind what has been yielded or was not asked for."""
        return dict(self._places)

    def events(self, follow: bool = True) -> Iterator[Followed]:
        """Yield the events; with `follow` for ever, else up to what Kafka has at the hand-over.

        Raises:
            Unreachable: Kafka or the database does not answer.
            Gone: Kafka has dropped what is not archived.
            Altered: A row of the archive is not what was archived.
            VerdictError: Kafka ends before what has been read: it is another one than before.
        """
        after = self._from if isinstance(self._from, int) else self._first_after()
        while True:
            ends = yield from self._all_archived(after)
            try:
                yield from self._from_kafka(ends, follow)
                return
            except RecordsDropped as dropped:
                self._see_that_it_is_archived(dropped)
                after = self._first_after()

    def _all_archived(self, after: int) -> Generator[Followed, None, Places]:
        """Yield what is archived, and return from where on Kafka must be read."""
        while True:
            ends, last = self._standing()
            if after >= last:
                return ends
            yield from self._archived(after, last)
            after = last

    def _standing(self) -> tuple[dict[Place, int], int]:
        """Return from where on Kafka must be read, and the position of the last archived event."""
        rows = [*self._reader.select(STANDING).rows]
        ends = {Place(topic, int(number)): int(offset) for topic, number, offset, _ in rows}
        return ends, max((int(last or 0) for *_, last in rows), default=0)

    def _behind(self, position: int) -> dict[Place, int]:
        """Return the next offset of each followed partition after a global position."""
        if position <= 0:
            return {}
        ends, _ = self._standing()
        archive = ArchivePosition(self._reader)
        behind = {
            place: archive.end_at_position(place, position) for place in self._of_followed(ends)
        }
        return {place: offset for place, offset in behind.items() if offset > 0}

    def _of_followed(self, places: Iterable[Place]) -> Iterator[Place]:
        return (place for place in places if place.topic in self._followed)

    def _first_after(self) -> int:
        """Return the position behind which lies all that `places` have not seen."""
        ends, last = self._standing()
        found = [
            position
            for place in self._of_followed({*ends, *self._places})
            for (position,) in self._reader.select(
                FIRST, {**place._asdict(), "offset": self._places.get(place, 0)}
            ).rows
        ]
        firsts = [int(position) for position in found if position is not None]
        return min(firsts, default=last + 1) - 1

    def _archived(self, after: int, last: int) -> Iterator[Followed]:
        for row in Archive(self._reader).positions(after, last):
            place = Place(row.topic, row.partition)
            if row.topic in self._followed and row.offset >= self._places.get(place, 0):
                value = row.laid().value or b""
                self._places[place] = row.offset + 1
                event = decode_event(row.aggregate_type, value)
                yield Followed(event, place, row.offset, row.global_position)

    def _from_kafka(self, ends: Places, follow: bool) -> Iterator[Followed]:
        for message in self._log.read(self._behind_archive(ends), follow):
            place = Place(str(message.topic()), message.partition() or 0)
            event = self._event(message)
            offset = message.offset() or 0
            self._places[place] = offset + 1
            yield Followed(event, place, offset, None)

    def _event(self, message: Message) -> RecordedEvent:
        topic = str(message.topic())
        try:
            return decode_event(self._followed[topic], message.value() or b"")
        except ValueError as error:
            place = f"{topic}:{message.partition()}:{message.offset()}"
            raise VerdictError(
                f"{place} cannot be read as an event ({error}): look at it with `verdict letters "
                f"show {place}`; if it is none, pass it over with `verdict letters evict {place} "
                "--why …`, and subscribe again from the same places"
            ) from error

    def _behind_archive(self, ends: Places) -> Spans:
        spans = {}
        for place, kept in self._log.bounds(self._log.places(self._followed)).items():
            start = max(ends.get(place, 0), self._places.get(place, 0))
            if start < kept.start:
                raise RecordsDropped(*place, start, kept.start)
            if start > kept.end:
                raise NotThereYet(*place, start, kept.end)
            spans[place] = Span(start, kept.end)
        return spans

    def _see_that_it_is_archived(self, dropped: RecordsDropped) -> None:
        ends, _ = self._standing()
        place = Place(dropped.topic, dropped.partition)
        reached = ends.get(place, 0)
        if reached < dropped.earliest:
            raise Gone(place, reached, dropped.earliest) from dropped


def _followed(category: str | None) -> Sequence[str]:
    known = current().aggregate_types
    if category is None:
        return known
    if category not in known:
        raise VerdictError(f"there is no category {category!r}: there are {', '.join(known)}")
    return [category]

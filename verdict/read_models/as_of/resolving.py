"""From what is asked for to a position: the next offset of every partition that is followed."""

from collections.abc import Callable, Iterator

from verdict.application import current
from verdict.errors import Unreachable
from verdict.event_log.archive_position import ArchivePosition
from verdict.event_log.event_log import Gone
from verdict.kafka.log import KafkaLog
from verdict.kafka.log import Span as Offsets
from verdict.model.recorded_event import RecordedEvent
from verdict.projection.applier import wall_clock
from verdict.projection.decoding import Decoding
from verdict.projection.projection import Projection
from verdict.read_models.as_of.decided import Decided
from verdict.read_models.as_of.errors import Compacted, NotByPosition, NotPassed
from verdict.read_models.as_of.moment import AsOf, Resolved
from verdict.reading.reader import Reader
from verdict.wire.spans import Partition
from verdict.wire.topics import Topics

FIRST_CHUNK = 128  # offsets; doubled until a record is found

Ends = dict[Partition, int]


class Resolver:
    """Finds positions for one projection.

    Args:
        projection: Whose topics are asked about.
        topics: Of the deployment.
        log: Of Kafka.
        archive: Opens the read side, for who needs it.
        decided: Knows how far the decider has come.
        clock: Epoch milliseconds.
    """

    def __init__(
        self,
        projection: Projection,
        topics: Topics,
        log: KafkaLog,
        archive: Callable[[], Reader],
        decided: Decided,
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        self._name = projection.name
        self._followed = list(projection.topics(topics))
        self._topics = topics
        self._log = log
        self._archive = archive
        self._decided = decided
        self._clock = clock

    def resolve(self, as_of: AsOf) -> Resolved:
        """Return the position; the same again for the same time or global position.

        Raises:
            NotPassed, NotDecided: More may come to be before the time that was asked for.
            NoSuchPosition, NotByPosition: There is no such global position, or none helps here.
            Compacted: Kafka does not hold any more what was known at that time.
            Gone: Kafka has dropped events that are not archived; they may be of that time.
            RecordsDropped: Kafka dropped what was to be read next.
            Unreachable: Kafka does not answer, or the archive, where a global position needs it; or
                a transaction stays open, and what is in it could still count.
        """
        if as_of.global_position is not None:
            return Resolved(as_of, self._at_position(as_of.global_position))
        if as_of.millis is not None:
            return Resolved(as_of, self._at_time(as_of.millis), until=as_of.millis)
        return Resolved(as_of, {place: self._log.bounds(*place)[1] for place in self._places()})

    def _at_position(self, position: int) -> Ends:
        if others := [topic for topic in self._followed if not self._holds_events(topic)]:
            raise NotByPosition(self._name, others)
        with self._archive() as reader:
            archive = ArchivePosition(reader)
            archive.see_that_it_reaches(position)
            return {place: archive.end_at_position(place, position) for place in self._places()}

    def _at_time(self, millis: int) -> Ends:
        now = self._clock()
        if millis >= now:
            raise NotPassed(millis, now)
        self._decided.see_that_all_is_until(millis, self._commands())
        self._decided.await_settled(self._followed)
        # only now, as more was published meanwhile
        events = [place for place in self._places() if self._holds_events(place.topic)]
        return self._events_until(events, millis) | {
            place: self._records_until(place, millis)
            for place in self._places()
            if place not in events
        }

    def _events_until(self, places: list[Partition], millis: int) -> Ends:
        """Return the offsets behind the last event that was decided by then."""
        ends, reached = self._archived_until(places, millis)
        spans = []
        for place in places:
            earliest, end = self._log.bounds(*place)
            if earliest > reached[place]:
                raise Gone(place, reached[place], earliest)
            spans.append(Offsets(*place, reached[place], end))
        decoder = Decoding(self._topics)
        for m in self._log.read(spans):
            place = Partition(str(m.topic()), m.partition() or 0)
            record = decoder.delivery(*place, m.offset() or 0, m.key(), m.value()).record
            if isinstance(record, RecordedEvent) and record.decided_at <= millis:
                ends[place] = max(ends[place], (m.offset() or 0) + 1)
        return ends

    def _archived_until(self, places: list[Partition], millis: int) -> tuple[Ends, Ends]:
        """Return the same as far as the archive knows, and up to where that is."""
        nothing = dict.fromkeys(places, 0)
        if not places:
            return nothing, nothing
        try:
            with self._archive() as reader:
                archive = ArchivePosition(reader)
                reached = {place: archive.reached(place) for place in places}
                return {place: archive.end_at_time(place, millis) for place in places}, reached
        except Unreachable:
            if any(self._log.bounds(*place)[0] > 0 for place in places):
                raise
            return nothing, nothing  # all of it is in Kafka too, and takes longer to read

    def _records_until(self, place: Partition, millis: int) -> int:
        """Return the offset behind the last record before the first that Kafka has of later."""
        earliest, end = self._log.bounds(*place)
        end = min(end, self._log.first_since(*place, millis + 1))
        if place.topic in self._topics.states:
            held = sum(1 for _ in self._log.read([Offsets(*place, earliest, end)]))
            if held < end:
                raise Compacted(self._name, place, end - held, end)
        return self._behind_last(place, earliest, end)

    def _behind_last(self, place: Partition, earliest: int, end: int) -> int:
        """Leave out the offsets of Kafka's own records, of which more may come."""
        chunk = FIRST_CHUNK
        while end > earliest:
            start = max(earliest, end - chunk)
            found = [m.offset() or 0 for m in self._log.read([Offsets(*place, start, end)])]
            if found:
                return max(found) + 1
            end, chunk = start, 2 * chunk
        return end

    def _places(self) -> Iterator[Partition]:
        for topic in self._followed:
            for number in range(self._log.partitions(topic)):
                yield Partition(topic, number)

    def _commands(self) -> list[str]:
        """Return the topics of the commands that what is followed came of."""
        kinds = {name: self._of(name) for name in current().aggregate_types}
        return [
            self._topics.commands(name)
            for name, outputs in kinds.items()
            if outputs & {*self._followed}
        ]

    def _of(self, aggregate_type: str) -> set[str]:
        return {self._topics.events(aggregate_type), self._topics.responses(aggregate_type)}

    def _holds_events(self, topic: str) -> bool:
        return topic in map(self._topics.events, current().aggregate_types)

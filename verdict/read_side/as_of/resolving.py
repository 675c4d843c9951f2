"""From what is asked for to a position: the next offset of every partition that is followed."""

from collections.abc import Callable, Mapping, Sequence

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import offsets_at
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.sql.time_text import wall_clock
from verdict.errors import UnreachableError, VerdictError
from verdict.model.message import iso_time
from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.as_of.moment import AsOf, ResolvedPosition
from verdict.read_side.live.decoding import RecordDecoder
from verdict.read_side.projections.projection import Projection
from verdict.streaming.event_log.event_log import EventLog
from verdict.streaming.exactly_once.query import decider_query
from verdict.streaming.exactly_once.read_progress import read_progress_now
from verdict.wire.partitions import OffsetRange, PartitionOffsets, TopicPartition
from verdict.wire.topics import Topics

ASK = "ask for `--as-of now` or a time"


class FutureTimeError(VerdictError):
    """More may happen before the time that was asked for."""

    def __init__(self, millis: int, now: int) -> None:
        super().__init__(
            f"{iso_time(millis)} is in the future, it is {iso_time(now)} now: more may happen by "
            f"then; "
            "ask again when it has passed"
        )


class UndecidedCommandsError(VerdictError):
    """Commands that Kafka got by that time are not decided yet."""

    def __init__(self, millis: int, place: TopicPartition, needed: int, decided: int) -> None:
        super().__init__(
            f"{place} has commands of {iso_time(millis)} or before up to "
            f"offset {needed}, and the decider has decided them up to {decided}: let `verdict up` "
            "run until `verdict status` shows no lag there, then ask again"
        )


class NoPositionsError(VerdictError):
    """Global positions say nothing about the topics that a projection follows."""

    def __init__(self, name: str, topics: list[str]) -> None:
        super().__init__(
            f"{name} follows {', '.join(topics)}, and global positions count events only: {ASK}"
        )


class CompactedError(VerdictError):
    """What a topic of states held then is overtaken and gone."""

    def __init__(self, name: str, place: TopicPartition, missing: int, end: int) -> None:
        super().__init__(
            f"{name} follows {place.topic}, which keeps the newest states only: of the {end} "
            f"offsets that {place} had by then {missing} hold nothing any more, so the rows of "
            "that time are not known; ask for `--as-of now`"
        )


class DecidedUpTo:
    """Compares the decider's progress with the times of commands, which are those of Kafka."""

    def __init__(self, kafka: KafkaConfig, topics: Topics) -> None:
        self._kafka = kafka
        self._topics = topics

    def require_decided_until(self, millis: int, commands: Sequence[str]) -> None:
        """Return when the decider has published the outcome of all commands up to that time.

        Those in a transaction that is still open count too: they have their time already.
        """
        if not commands:
            return
        with KafkaLog(self._kafka.settings, self._kafka.transaction_timeout_s) as log:
            later = log.first_since(log.places(commands), millis + 1)
        decided = self.progress_offsets()
        for place, needed in later.items():
            if (done := offsets_at(decided, place)) < needed:
                raise UndecidedCommandsError(millis, place, needed, done)

    def await_settled(self, topics: Sequence[str]) -> None:
        """Return when every transaction has ended that is open on these topics now."""
        with KafkaLog(self._kafka.settings, 2 * self._kafka.transaction_timeout_s) as log:
            log.await_settled(log.places(topics), "the rows of that time are not known yet")

    def progress_offsets(self) -> Mapping[str, Sequence[int]]:
        """Return how far commands are decided, by topic and partition; none without a record."""
        progress = read_progress_now(self._kafka, decider_query(self._topics, 1))
        return {} if progress is None else progress.offsets


class PositionResolver:
    """Finds positions for one projection."""

    def __init__(
        self,
        projection: Projection,
        topics: Topics,
        log: KafkaLog,
        events: EventLog,
        decided: DecidedUpTo,
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        self._name = projection.name
        self._followed = list(projection.topics(topics))
        self._topics = topics
        self._log = log
        self._events = events
        self._decided = decided
        self._clock = clock

    def resolve(self, as_of: AsOf) -> ResolvedPosition:
        """Return the position; the same again for the same time or global position."""
        if as_of.global_position is not None:
            return ResolvedPosition(as_of, self._at_position(as_of.global_position))
        if as_of.millis is not None:
            return ResolvedPosition(as_of, self._at_time(as_of.millis), until=as_of.millis)
        kept = self._log.bounds(self._places())
        return ResolvedPosition(as_of, {place: span.end for place, span in kept.items()})

    def _at_position(self, position: int) -> PartitionOffsets:
        if others := [topic for topic in self._followed if not self._holds_events(topic)]:
            raise NoPositionsError(self._name, others)
        archive = self._events.archive()
        archive.require_position(position)
        return {place: archive.end_at_position(place, position) for place in self._places()}

    def _at_time(self, millis: int) -> PartitionOffsets:
        now = self._clock()
        if millis >= now:
            raise FutureTimeError(millis, now)
        self._decided.require_decided_until(millis, self._commands())
        self._decided.await_settled(self._followed)
        # only now, as more was published meanwhile
        places = self._places()
        events = [place for place in places if self._holds_events(place.topic)]
        others = [place for place in places if place not in events]
        before = {place: self._records_until(place, millis) for place in others}
        return {**self._events_until(events, millis), **before}

    def _events_until(self, places: list[TopicPartition], millis: int) -> PartitionOffsets:
        """Return the offsets behind the last event that was decided by then."""
        ends, reached = self._archived_until(places, millis)
        kept = self._log.bounds(places)
        decoder = RecordDecoder(self._topics)
        for found in self._events.read(reached, {place: span.end for place, span in kept.items()}):
            record = decoder.delivery(*found).record
            if isinstance(record, RecordedEvent) and record.decided_at <= millis:
                place = TopicPartition.of(found)
                ends[place] = max(ends[place], found.offset + 1)
        return ends

    def _archived_until(
        self, places: list[TopicPartition], millis: int
    ) -> tuple[dict[TopicPartition, int], PartitionOffsets]:
        """Return the same as far as the archive knows, and up to where that is."""
        if not places:
            return {}, {}
        try:
            archive = self._events.archive()
            reached, _ = archive.standing()
            return {place: archive.end_at_time(place, millis) for place in places}, reached
        except UnreachableError:
            if any(kept.start > 0 for kept in self._log.bounds(places).values()):
                raise
            return dict.fromkeys(places, 0), {}  # all of it is in Kafka too, and takes longer

    def _records_until(self, place: TopicPartition, millis: int) -> int:
        """Return the offset behind the last record before the first that Kafka has of later."""
        kept = self._log.bounds([place])[place]
        end = min(kept.end, self._log.first_since([place], millis + 1)[place])
        until = OffsetRange(min(kept.start, end), end)
        if place.topic in self._topics.states:
            held = sum(1 for _ in self._log.read({place: until}))
            if held < end:
                raise CompactedError(self._name, place, end - held, end)
        # Kafka's own records take offsets, and more of them may come
        last = self._log.last(place, until, lambda message: True)
        return until.start if last is None else (last.offset() or 0) + 1

    def _places(self) -> list[TopicPartition]:
        return self._log.places(self._followed)

    def _commands(self) -> list[str]:
        kinds = {name: self._of(name) for name in self._topics.application.aggregate_types}
        return [
            self._topics.commands(name)
            for name, outputs in kinds.items()
            if outputs & {*self._followed}
        ]

    def _of(self, aggregate_type: str) -> set[str]:
        topics = self._topics
        return {
            topics.events(aggregate_type),
            topics.responses(aggregate_type),
            topics.rejected(aggregate_type),
        }

    def _holds_events(self, topic: str) -> bool:
        return topic in map(self._topics.events, self._topics.application.aggregate_types)

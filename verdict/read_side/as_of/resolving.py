"""As of when, and the position that it comes to: the next offset of each followed partition."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import offsets_at
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.sql.time_text import wall_clock
from verdict.errors import UnreachableError, VerdictError
from verdict.model.message import epoch_millis, iso_time
from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.live.decoding import RecordDecoder
from verdict.read_side.projections.projection import Projection
from verdict.streaming.event_log.event_log import EventLog
from verdict.streaming.exactly_once.query import decider_query
from verdict.streaming.exactly_once.read_progress import read_progress_now
from verdict.wire.partitions import OffsetRange, PartitionOffsets, TopicPartition
from verdict.wire.topics import Topics


@dataclass(frozen=True, slots=True)
class AsOf:
    """One of three: now, a time in epoch milliseconds, or a global position of the archive."""

    millis: int | None = None
    global_position: int | None = None

    @property
    def asked(self) -> str | int:
        """What was asked for, always spelled alike: `now`, the time in UTC, or the number."""
        if self.millis is not None:
            return iso_time(self.millis)
        return "now" if self.global_position is None else self.global_position


@dataclass(frozen=True, slots=True)
class ResolvedPosition:
    """The position that was asked for."""

    as_of: AsOf
    ends: PartitionOffsets

    @property
    def shown(self) -> dict[str, Any]:
        """What the completion record says of it."""
        ends = sorted(self.ends.items())
        positions = [{**place._asdict(), "next_offset": end} for place, end in ends]
        return {"asked": self.as_of.asked, "positions": positions}


def parse_as_of(text: str) -> AsOf:
    """Read `now`, a global position such as `4711`, or a time with a zone (ISO 8601)."""
    if text == "now":
        return AsOf()
    if text.isascii() and text.isdigit():
        return AsOf(global_position=int(text))
    millis = epoch_millis(text)
    assert isinstance(millis, int)  # a text is never returned as it was
    return AsOf(millis=millis)


def decided_offsets(kafka: KafkaConfig, topics: Topics) -> Mapping[str, Sequence[int]]:
    """Return how far commands are decided, by topic and partition; none without a record."""
    progress = read_progress_now(kafka, decider_query(topics, 1))
    return {} if progress is None else progress.offsets


def await_settled(kafka: KafkaConfig, topics: Sequence[str]) -> None:
    """Return when every transaction has ended that is open on these topics now."""
    with KafkaLog(kafka.settings, 2 * kafka.transaction_timeout_s) as log:
        log.await_settled(log.places(topics), "the rows of that time are not known yet")


@dataclass(frozen=True, slots=True)
class PositionResolver:
    """Finds positions for one projection."""

    projection: Projection
    topics: Topics
    log: KafkaLog
    events: EventLog
    kafka: KafkaConfig

    def resolve(self, as_of: AsOf) -> ResolvedPosition:
        """Return the position; the same again for the same time or global position."""
        if as_of.global_position is not None:
            return ResolvedPosition(as_of, self._at_position(as_of.global_position))
        if as_of.millis is not None:
            return ResolvedPosition(as_of, self._at_time(as_of.millis))
        kept = self.log.bounds(self._places())
        return ResolvedPosition(as_of, {place: span.end for place, span in kept.items()})

    def _at_position(self, position: int) -> PartitionOffsets:
        if others := [topic for topic in self._followed if not self._holds_events(topic)]:
            raise VerdictError(
                f"{self.projection.name} follows {', '.join(others)}, and global positions count "
                "events only: ask for `--as-of now` or a time"
            )
        archive = self.events.archive()
        archive.require_position(position)
        return {place: archive.end_at_position(place, position) for place in self._places()}

    def _at_time(self, millis: int) -> PartitionOffsets:
        if millis >= (now := wall_clock()):
            raise VerdictError(
                f"{iso_time(millis)} is in the future, it is {iso_time(now)} now: more may happen "
                "by then; ask again when it has passed"
            )
        self._require_decided_until(millis)
        await_settled(self.kafka, self._followed)
        # only now, as more was published meanwhile
        places = self._places()
        events = [place for place in places if self._holds_events(place.topic)]
        others = [place for place in places if place not in events]
        before = {place: self._records_until(place, millis) for place in others}
        return {**self._events_until(events, millis), **before}

    def _require_decided_until(self, millis: int) -> None:
        """Return when the decider has published the outcome of all commands up to a time of Kafka.

        Those in a transaction that is still open count too: they have their time already.
        """
        if not (commands := self._commands()):
            return
        with KafkaLog(self.kafka.settings, self.kafka.transaction_timeout_s) as log:
            later = log.first_since(log.places(commands), millis + 1)
        decided = decided_offsets(self.kafka, self.topics)
        for place, needed in later.items():
            if (done := offsets_at(decided, place)) < needed:
                raise VerdictError(
                    f"{place} has commands of {iso_time(millis)} or before up to offset {needed}, "
                    f"and the decider has decided them up to {done}: let `verdict up` run until "
                    "`verdict status` shows no lag there, then ask again"
                )

    def _events_until(self, places: list[TopicPartition], millis: int) -> PartitionOffsets:
        """Return the offsets after the last event that was decided by then."""
        ends, reached = self._archived_until(places, millis)
        kept = self.log.bounds(places)
        decoder = RecordDecoder(self.topics)
        for found in self.events.read(reached, {place: span.end for place, span in kept.items()}):
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
            archive = self.events.archive()
            reached, _ = archive.standing()
            return {place: archive.end_at_time(place, millis) for place in places}, reached
        except UnreachableError:
            if any(kept.start > 0 for kept in self.log.bounds(places).values()):
                raise
            return dict.fromkeys(places, 0), {}  # all of it is in Kafka too, and takes longer

    def _records_until(self, place: TopicPartition, millis: int) -> int:
        """Return the offset after the last record before the first later one that Kafka has."""
        kept = self.log.bounds([place])[place]
        end = min(kept.end, self.log.first_since([place], millis + 1)[place])
        until = OffsetRange(min(kept.start, end), end)
        if place.topic in self.topics.states:
            held = sum(1 for _ in self.log.read({place: until}))
            if held < end:
                raise VerdictError(
                    f"{self.projection.name} follows {place.topic}, which keeps the newest states "
                    f"only: of the {end} offsets that {place} had by then {end - held} hold "
                    "nothing any more, so the rows of that time are not known; ask for `--as-of "
                    "now`"
                )
        # Kafka's own records take offsets, and more of them may come
        last = self.log.last(place, until, lambda message: True)
        return until.start if last is None else (last.offset() or 0) + 1

    @property
    def _followed(self) -> Sequence[str]:
        return self.projection.topics(self.topics)

    def _places(self) -> list[TopicPartition]:
        return self.log.places(self._followed)

    def _commands(self) -> list[str]:
        """Return the topics of commands whose outcomes the projection follows."""
        kinds = (self.topics.events, self.topics.responses, self.topics.rejected)
        return [
            self.topics.commands(name)
            for name in self.topics.application.aggregate_types
            if {of(name) for of in kinds}.intersection(self._followed)
        ]

    def _holds_events(self, topic: str) -> bool:
        return topic in map(self.topics.events, self.topics.application.aggregate_types)

"""Histories of aggregates, and one outcome for each command; pure.

Of each aggregate it keeps where its events end and what its last outcome says, some hundred bytes;
of each command a byte says which records name it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntFlag
from hashlib import sha256

from verdict.model.source import Source
from verdict.operations.audit.finding import Check, Finding
from verdict.streaming.event_log.record import PositionedEvent
from verdict.wire.response import Response
from verdict.wire.skip_record import NOTHING_PASSED_OVER, SkippedRanges
from verdict.wire.stored_event import StoredEvent


@dataclass(frozen=True, slots=True)
class HistoryEnd:
    """Where an aggregate's events end; `digest` is the last event's, None if it is unreadable."""

    version: int
    digest: bytes | None
    place: Source


class Histories:
    """Takes the events of one partition in their order, and then its responses.

    `answered`: all responses are there, because Kafka has dropped none of the partition.
    """

    def __init__(self, aggregate_type: str, answered: bool = True) -> None:
        self.aggregate_type = aggregate_type
        self._answered = answered
        self._events: dict[str, HistoryEnd] = {}
        self._outcomes: dict[str, HistoryEnd] = {}

    @property
    def aggregates(self) -> int:
        """How many aggregates have events."""
        return len(self._events)

    def take(self, placed: PositionedEvent) -> Iterator[Finding]:
        """Take the next event; yield what is wrong with it."""
        name = placed.aggregate_id
        last = self._events.get(name, HistoryEnd(0, b"", placed.place))
        if isinstance(placed.content, str):
            # later events are looked at as if this were the next version
            unread = self._events[name] = HistoryEnd(last.version + 1, None, placed.place)
            yield self._finding(Check.CHAIN, name, unread, placed.content)
            return
        if placed.version <= last.version:
            behind = f"comes after version {last.version}, at {last.place}"
            what = f"{behind}: it is there twice, or came too late"
            yield self._finding(Check.VERSIONS, name, placed, what)
            return
        yield from self._chain(last, placed, placed.content)
        digest = sha256(placed.content.value).digest()
        self._events[name] = HistoryEnd(placed.version, digest, placed.place)

    def answer(self, response: Response, place: Source) -> None:
        """Take the next response."""
        if not response.duplicate and response.to_version is not None:
            self._outcomes[response.aggregate_id] = HistoryEnd(
                response.to_version, response.last_hash, place
            )

    def close(self) -> Iterator[Finding]:
        """Yield where outcomes and events differ about how they end."""
        for name in sorted({*self._events, *self._outcomes}):
            last, said = self._events.get(name), self._outcomes.get(name)
            if said is None:
                if last is not None and self._answered:
                    what = "no outcome tells of it or of any before"
                    yield self._finding(Check.VERSIONS, name, last, what)
            elif last is None or last.version < said.version:
                if said.version:  # else a rejection says that it never existed
                    ends = f"they end with version {last.version}" if last else "there is none"
                    what = (
                        f"its last events are cut off: {ends}, the outcome says version "
                        f"{said.version}"
                    )
                    yield self._finding(Check.VERSIONS, name, said, what)
            elif last.version > said.version:
                what = f"no outcome tells of it: the last one, at {said.place}, says version "
                yield self._finding(Check.VERSIONS, name, last, f"{what}{said.version}")
            elif None not in (said.digest, last.digest) and last.digest != said.digest:
                what = (
                    f"has the SHA-256 {_short(last.digest)}, and the last outcome, at "
                    f"{said.place}, says it was {_short(said.digest)}: it was altered"
                )
                yield self._finding(Check.LAST_HASH, name, last, what)

    def _chain(
        self, last: HistoryEnd, placed: PositionedEvent, stored: StoredEvent
    ) -> Iterator[Finding]:
        name = placed.aggregate_id
        if placed.version > last.version + 1:
            missing = f"{last.version + 1}"
            if placed.version > last.version + 2:
                missing += f" to {placed.version - 1}"
            what = f"follows version {last.version}: version {missing} is missing"
            yield self._finding(Check.VERSIONS, name, placed, what)
        elif last.digest is not None and stored.event.previous_hash != last.digest:
            said = stored.event.previous_hash.hex()[:16] or "nothing"
            if not last.version:
                what = f"is the first one and names an event before it ({said}…)"
                yield self._finding(Check.CHAIN, name, placed, what)
                return
            what = (
                f"has the SHA-256 {_short(last.digest)}, and version {placed.version}, at "
                f"{placed.place}, says it was {said}…: one of the two was altered"
            )
            yield self._finding(Check.CHAIN, name, last, what)

    def _finding(
        self, check: Check, name: str, at: HistoryEnd | PositionedEvent, what: str
    ) -> Finding:
        return Finding(check, what, self.aggregate_type, name, at.version, at.place)


def _short(digest: bytes | None) -> str:
    return f"{(digest or b'').hex()[:16]}…"


class SeenOutcome(IntFlag):
    """The records that name one command."""

    RESPONSE = 1
    REFUSED = 2  # by a response that is no duplicate
    REJECTION = 4
    LETTER = 8
    EVENT = 16


ONCE = {
    SeenOutcome.RESPONSE: "the command has two outcomes: this is the second one",
    SeenOutcome.REJECTION: "the command was rejected twice: this is the second record",
}


class OutcomeAudit:
    """Takes all records that name a command, in any order, and then the commands in their order.

    `decided` and `earliest` are offsets by partition: up to the first all commands are decided,
    from the second on Kafka has them. `rejections`: Kafka has dropped none. `passed_over` are
    commands that operators skipped: each has a dead letter. `unread` responses were skipped, so as
    many outcomes may be missing; `unanswered` counts these by aggregate.
    """

    def __init__(  # noqa: PLR0913  (each a fact about one topic)
        self,
        aggregate_type: str,
        topic: str,
        decided: Sequence[int],
        earliest: Sequence[int],
        rejections: bool = True,
        passed_over: SkippedRanges = NOTHING_PASSED_OVER,
        unread: int = 0,
    ) -> None:
        self._passed_over = passed_over
        self._unread = unread
        self.unanswered: Counter[str] = Counter()
        self._type = aggregate_type
        self._topic = topic
        self._seen = [bytearray(end) for end in decided]
        self._earliest = earliest
        self._rejections = rejections
        self._next = [*earliest]

    def counts(self, source: Source) -> bool:
        """Tell whether a command is one of ours that this audit looks at."""
        ours = source.topic == self._topic and 0 <= source.partition < len(self._seen)
        return ours and source.offset < len(self._seen[source.partition])

    def take(
        self, what: SeenOutcome, source: Source, name: str, place: Source
    ) -> Iterator[Finding]:
        """Note that `what` at `place` names a command; yield it if it is the second one."""
        seen = self._seen[source.partition]
        for kind, said in ONCE.items():
            if what & kind and seen[source.offset] & kind:
                yield self._finding(f"{said}; the command is at {source}", name, place)
        seen[source.offset] |= what

    def fill_in(self, what: SeenOutcome, source: Source) -> bool:
        """Note an outcome that Kafka has dropped; tell whether it is new."""
        seen = self._seen[source.partition]
        new = not seen[source.offset] & SeenOutcome.RESPONSE
        if new:
            seen[source.offset] |= what
        return new

    def ask(self, place: Source, name: str) -> Iterator[Finding]:
        """Look at the next command of a partition; yield what is wrong with its outcome."""
        yield from self._between(place.partition, self._next[place.partition], place.offset)
        self._next[place.partition] = place.offset + 1
        seen = SeenOutcome(self._seen[place.partition][place.offset])
        if not seen & (SeenOutcome.RESPONSE | SeenOutcome.LETTER):
            if self.unanswered.total() < self._unread:
                self.unanswered[name] += 1
            else:
                yield self._finding("the command is decided and has no outcome", name, place)
        yield from self._of_one(place, seen & ~SeenOutcome.EVENT, name)

    def close(self) -> Iterator[Finding]:
        """Yield what is wrong with commands that Kafka does not have."""
        for number, seen in enumerate(self._seen):
            yield from self._between(number, self._next[number], len(seen))
            for offset, found in enumerate(seen[: self._earliest[number]]):
                if found:
                    yield from self._of_one(
                        Source(self._topic, number, offset), SeenOutcome(found), None
                    )

    def _between(self, number: int, start: int, end: int) -> Iterator[Finding]:
        """Yield outcomes of offsets at which Kafka has no command."""
        seen = self._seen[number]
        if not any(seen[start:end]):
            return
        for offset in range(start, end):
            if seen[offset] == SeenOutcome.LETTER and self._passed_over.holds(
                self._topic, number, offset
            ):
                continue
            if seen[offset]:
                what = "something names a command at this place, and there is none"
                yield self._finding(what, None, Source(self._topic, number, offset))

    def _of_one(self, place: Source, seen: SeenOutcome, name: str | None) -> Iterator[Finding]:
        if seen & SeenOutcome.EVENT and not seen & SeenOutcome.RESPONSE:
            yield self._finding("events came of the command, and it has no outcome", name, place)
        if seen & SeenOutcome.REFUSED and not seen & SeenOutcome.REJECTION and self._rejections:
            yield self._finding("the command is refused, and its rejection is missing", name, place)
        if seen & SeenOutcome.REJECTION and not seen & SeenOutcome.REFUSED:
            yield self._finding("there is a rejection, and no outcome says so", name, place)

    def _finding(self, what: str, name: str | None, place: Source) -> Finding:
        return Finding(Check.OUTCOMES, what, self._type, name, place=place)

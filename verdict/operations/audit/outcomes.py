"""One outcome for each command: a byte per command keeps what was seen of it; pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import IntFlag

from verdict.model.source import Source
from verdict.operations.audit.finding import Check, Finding
from verdict.wire.skip_record import NOTHING_PASSED_OVER, SkippedRanges


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

"""The audit of the log: events, outcomes and the archive, in one pass over each topic."""

import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from verdict.adapters.kafka.reader import KafkaLog
from verdict.model.source import Source
from verdict.operations.audit.archived import differences, event_of, side_by_side
from verdict.operations.audit.bounds import Cut
from verdict.operations.audit.finding import Check, CheckResult, Finding
from verdict.operations.audit.histories import Histories
from verdict.operations.audit.outcomes import OutcomeAudit, SeenOutcome
from verdict.streaming.event_log.archive import Archive
from verdict.streaming.event_log.event_log import record_of_key
from verdict.streaming.event_log.record import RawRecord, raw_record
from verdict.wire.catalog import catalog_of
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.records import decode
from verdict.wire.response import Rejection, Response, Status
from verdict.wire.stored_event import StoredEvent
from verdict.wire.topics import Topics

EVERY = 10_000  # records between two words of progress

Kind = TypeVar("Kind", DeadLetter, Rejection, Response)
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class LogAudit:
    """Reads each topic of the deployment once, up to the cut.

    Memory: a byte per command, and some hundred for each aggregate of one partition at a time.

    Args:
        topics: Of the deployment.
        log: Of Kafka.
        archive: None when there is no read side.
        cut: What counts.
        only: The id of the one aggregate to look at; None for all.
        looked: Is told what was looked at.
        tell: Told how far it has come.
    """

    topics: Topics
    log: KafkaLog
    archive: Archive | None
    cut: Cut
    only: str | None
    looked: CheckResult
    tell: Tell

    def findings(self, aggregate_types: Iterable[str]) -> Iterator[Finding]:
        """Yield what is wrong with events, outcomes and archive of these types."""
        outcomes = {name: self._outcomes(name) for name in aggregate_types}
        yield from self._letters(outcomes)
        for aggregate_type, seen in outcomes.items():
            for number in self._numbers(aggregate_type):
                yield from self._partition(aggregate_type, number, seen)
            self._from_the_view(aggregate_type, seen)
            yield from self._rejections(aggregate_type, seen)
            yield from self._commands(aggregate_type, seen)
            self._tell_of_unanswered(seen.unanswered, aggregate_type)
            yield from seen.close()

    def _outcomes(self, aggregate_type: str) -> OutcomeAudit:
        topic = self.topics.commands(aggregate_type)
        decided = self.cut.decided[topic]
        kept = [self.cut.kept.get(TopicPartition(topic, n)) for n in range(len(decided))]
        earliest = [span.start if span else 0 for span in kept]
        rejected = self.topics.rejected(aggregate_type)
        whole = not self._dropped(rejected)
        over, answers = self.log.passed_over, self.topics.responses(aggregate_type)
        unread = sum(
            over.count(place, OffsetRange(0, sys.maxsize))
            for place in over.spans
            if place.topic == answers
        )
        return OutcomeAudit(aggregate_type, topic, decided, earliest, whole, over, unread)

    def _dropped(self, topic: str) -> bool:
        return any(kept.start for place, kept in self.cut.kept.items() if place.topic == topic)

    def _from_the_view(self, aggregate_type: str, seen: OutcomeAudit) -> None:
        """Take in the outcomes that Kafka has dropped, as far as SQL has them."""
        responses = self.topics.responses(aggregate_type)
        if not self._dropped(responses):
            return
        if self.archive is None:
            self.looked.unavailable.append(f"what Kafka has dropped of {responses}")
            return
        topic = self.topics.commands(aggregate_type)
        for number in range(len(self.cut.decided[topic])):
            for source, name, status, duplicate in self.archive.outcomes(topic, number):
                refused = status == Status.REJECTED and not duplicate
                what = SeenOutcome.RESPONSE | (SeenOutcome.REFUSED if refused else SeenOutcome(0))
                if seen.counts(source) and self.only in (None, name):
                    self.looked.at["outcomes from SQL"] += seen.fill_in(what, source)

    def _partition(self, aggregate_type: str, number: int, seen: OutcomeAudit) -> Iterator[Finding]:
        """Yield what is wrong with a partition of events and its responses."""
        responses = TopicPartition(self.topics.responses(aggregate_type), number)
        histories = Histories(aggregate_type, not self._kept(responses).start)
        yield from self._events(aggregate_type, number, histories, seen)
        for record in self._records(responses):
            response = yield from self._decoded(Response, record, aggregate_type)
            if response is None or not (
                yield from self._counts(seen, response.source, record, response.aggregate_id)
            ):
                continue
            first_refused = response.status == Status.REJECTED and not response.duplicate
            what = SeenOutcome.RESPONSE | (SeenOutcome.REFUSED if first_refused else SeenOutcome(0))
            place = _place(record)
            yield from seen.take(what, response.source, response.aggregate_id, place)
            histories.answer(response, place)
            self._count(response)
        yield from histories.close()
        self.looked.at["aggregates"] += histories.aggregates

    def _tell_of_unanswered(self, missing: Counter[str], aggregate_type: str) -> None:
        if missing:
            [(name, _)] = missing.most_common(1)
            self.looked.not_checked.append(
                f"{missing.total():,} outcomes of {len(missing):,} {aggregate_type} aggregates, "
                f"{name!r} among them, at skipped places"
            )

    def _count(self, response: Response) -> None:
        self.looked.at["responses"] += 1
        kind = "duplicates" if response.duplicate else response.status.lower()
        self.looked.at[kind] += 1

    def _events(
        self, aggregate_type: str, number: int, histories: Histories, seen: OutcomeAudit
    ) -> Iterator[Finding]:
        place = TopicPartition(self.topics.events(aggregate_type), number)
        kept = self._kept(place)
        rows, reached = self._archived(aggregate_type, place, kept.end)
        ahead, context = 0, catalog_of(self.topics.application)[aggregate_type]
        for copies in side_by_side(rows, self._records(place)):
            if copies.row and self.log.passed_over.holds(*place, copies.row["offset"]):
                continue
            placed = event_of(context, copies)
            event = placed.content.event if isinstance(placed.content, StoredEvent) else None
            if event is not None:
                record = copies.record or RawRecord(*place, placed.place.offset, None, None)
                if not (yield from self._counts(seen, event.source, record, placed.aggregate_id)):
                    continue
                name = placed.aggregate_id
                yield from seen.take(SeenOutcome.EVENT, event.source, name, placed.place)
            yield from histories.take(placed)
            if self.archive is not None:
                yield from differences(context, copies, placed, reached, kept.start)
                ahead += copies.row is None and placed.place.offset >= reached
            self.looked.at["events"] += 1
            self.looked.at["archived events"] += copies.row is not None
        if ahead:
            self.looked.not_checked.append(
                f"{ahead:,} events in {place} to which the read side has not come yet"
            )

    def _archived(
        self, aggregate_type: str, place: TopicPartition, end: int
    ) -> tuple[Iterator[dict[str, Any]], int]:
        if self.archive is None:
            return iter(()), 0
        reached = min(self.archive.standing().reached.get(place, 0), end)
        if self.only is None:
            return self.archive.whole(*place, reached), reached
        rows = self.archive.whole_of(aggregate_type, self.only)
        return (row for row in rows if row["offset"] < reached), reached

    def _letters(self, outcomes: dict[str, OutcomeAudit]) -> Iterator[Finding]:
        for record in self._whole(self.topics.dead_letters):
            try:
                letter = decode(DeadLetter, record.value or b"")
            except ValueError:
                continue  # of some other service, which may put its own letters there
            for seen in outcomes.values():
                if seen.counts(letter.source):
                    self.looked.at["dead letters"] += 1
                    name = (record.key or b"").decode(errors="backslashreplace")
                    yield from seen.take(SeenOutcome.LETTER, letter.source, name, _place(record))

    def _rejections(self, aggregate_type: str, seen: OutcomeAudit) -> Iterator[Finding]:
        for record in self._whole(self.topics.rejected(aggregate_type)):
            found = yield from self._decoded(Rejection, record, aggregate_type)
            if found is not None and (
                yield from self._counts(seen, found.source, record, found.aggregate_id)
            ):
                self.looked.at["rejections"] += 1
                name, place = found.aggregate_id, _place(record)
                yield from seen.take(SeenOutcome.REJECTION, found.source, name, place)

    def _commands(self, aggregate_type: str, seen: OutcomeAudit) -> Iterator[Finding]:
        for record in self._whole(self.topics.commands(aggregate_type)):
            if seen.counts(_place(record)):
                self.looked.at["commands"] += 1
                name = (record.key or b"").decode(errors="backslashreplace")
                yield from seen.ask(_place(record), name)

    def _counts(
        self, seen: OutcomeAudit, source: Source, record: RawRecord, name: str
    ) -> Generator[Finding, None, bool]:
        """Tell whether a record is of a command that counts; yield one of no command at all."""
        if seen.counts(source):
            return True
        begun = self.cut.begun.get(source.topic, ())
        if not (source.partition < len(begun) and source.offset < begun[source.partition]):
            yield Finding(
                check=Check.OUTCOMES,
                what=f"names a command at {source}, where none is decided",
                aggregate_id=name,
                place=_place(record),
            )
        return False

    def _decoded(
        self, kind: type[Kind], record: RawRecord, aggregate_type: str
    ) -> Generator[Finding, None, Kind | None]:
        try:
            return decode(kind, record.value or b"")
        except ValueError as error:
            yield Finding(
                check=Check.OUTCOMES,
                what=f"cannot be read: {error}",
                aggregate_type=aggregate_type,
                aggregate_id=(record.key or b"").decode(errors="backslashreplace"),
                place=_place(record),
            )
            return None

    def _numbers(self, aggregate_type: str) -> list[int]:
        """Return the partitions of events and of responses; somebody may have added some to one."""
        events, responses = (
            self.topics.events(aggregate_type),
            self.topics.responses(aggregate_type),
        )
        if self.only is not None:
            return [record_of_key(self.log, self.topics, events, self.only.encode()).partition]
        return sorted({one.partition for one in self.cut.kept if one.topic in (events, responses)})

    def _kept(self, place: TopicPartition) -> OffsetRange:
        return self.cut.kept.get(place, OffsetRange(0, 0))

    def _whole(self, topic: str) -> Iterator[RawRecord]:
        for place in self.cut.kept:
            if place.topic == topic:
                yield from self._records(place)

    def _records(self, place: TopicPartition) -> Iterator[RawRecord]:
        """Yield what Kafka has of a partition before the cut, of the one aggregate if asked."""
        key = None if self.only is None else self.only.encode()
        self.tell(str(place))
        for count, message in enumerate(self.log.read({place: self._kept(place)}), 1):
            if not count % EVERY:
                self.tell(f"{place}: {count:,} records")
            if key is None or message.key() == key:
                yield raw_record(message)


def _place(record: RawRecord) -> Source:
    return Source(record.topic, record.partition, record.offset)

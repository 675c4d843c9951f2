"""The audit of the log: events, outcomes and the archive, in one pass over each topic."""

import sys
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import TopicOffsets, ends
from verdict.adapters.kafka.reader import KafkaLog
from verdict.model.source import Source
from verdict.operations.audit.archived import Row, differences, event_of, side_by_side
from verdict.operations.audit.finding import Check, CheckResult, Finding
from verdict.operations.audit.histories import Histories, OutcomeAudit, SeenOutcome
from verdict.read_side.as_of.resolving import await_settled, decided_offsets
from verdict.streaming.event_log.archive import Archive
from verdict.streaming.event_log.event_log import record_of_key
from verdict.streaming.event_log.record import RawRecord, raw_record
from verdict.streaming.exactly_once.failpoints import ProgressCallback
from verdict.wire.catalog import catalog_of
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.partitions import OffsetRange, Spans, TopicPartition
from verdict.wire.records import decode
from verdict.wire.response import Rejection, Response, Status
from verdict.wire.stored_event import StoredEvent
from verdict.wire.topics import Topics

EVERY = 10_000  # records between two reports of progress

Kind = TypeVar("Kind", Rejection, Response)


class Cut(NamedTuple):
    """What an audit looks at while the service goes on: all that was decided when it began.

    Commands before `decided` count, and all their consequences are there. Commands before `begun`
    may have outcomes among these; later ones cannot. `kept` is what Kafka has of each partition.
    """

    decided: TopicOffsets
    begun: TopicOffsets
    kept: Spans


def cut(kafka: KafkaConfig, log: KafkaLog, topics: Topics) -> Cut:
    """Return what counts from now on; all commands, if the decider has no progress."""
    before = decided_offsets(kafka, topics)
    kinds = (topics.events, topics.responses, topics.rejected)
    outputs = [of(name) for of in kinds for name in topics.application.aggregate_types]
    await_settled(kafka, [*outputs, topics.dead_letters])
    commands = topics.every_commands()
    kept = log.bounds(log.places([*outputs, topics.dead_letters, *commands]))
    there_are = {topic: found for topic, found in ends(kept).items() if topic in commands}
    return Cut({**there_are, **before}, {**there_are, **decided_offsets(kafka, topics)}, kept)


@dataclass(frozen=True, slots=True)
class LogAudit:
    """Reads each topic of the deployment once, up to the cut; `only` is the one aggregate's id.

    It needs a byte per command, and some hundred per aggregate of one partition at a time.
    """

    topics: Topics
    log: KafkaLog
    archive: Archive | None
    cut: Cut
    only: str | None
    looked: CheckResult
    tell: ProgressCallback

    def findings(self, aggregate_types: Iterable[str]) -> Iterator[Finding]:
        """Yield what is wrong with events, outcomes and archive of these types."""
        outcomes = {name: self._outcomes(name) for name in aggregate_types}
        yield from self._dead_letters(outcomes)
        for aggregate_type, seen in outcomes.items():
            for number in self._numbers(aggregate_type):
                yield from self._partition(aggregate_type, number, seen)
            self._fill_in_from_view(aggregate_type, seen)
            yield from self._rejections(aggregate_type, seen)
            yield from self._commands(aggregate_type, seen)
            self._note_unanswered(seen.unanswered, aggregate_type)
            yield from seen.close()

    def _outcomes(self, aggregate_type: str) -> OutcomeAudit:
        topic = self.topics.commands(aggregate_type)
        decided = self.cut.decided[topic]
        earliest = [self._kept(TopicPartition(topic, n)).start for n in range(len(decided))]
        whole = not self._has_dropped(self.topics.rejected(aggregate_type))
        over, answers = self.log.passed_over, self.topics.responses(aggregate_type)
        unread = sum(
            over.count(place, OffsetRange(0, sys.maxsize))
            for place in over.spans
            if place.topic == answers
        )
        return OutcomeAudit(aggregate_type, topic, decided, earliest, whole, over, unread)

    def _has_dropped(self, topic: str) -> bool:
        return any(kept.start for place, kept in self.cut.kept.items() if place.topic == topic)

    def _fill_in_from_view(self, aggregate_type: str, seen: OutcomeAudit) -> None:
        """Take the outcomes that Kafka has dropped from SQL."""
        responses = self.topics.responses(aggregate_type)
        if not self._has_dropped(responses):
            return
        if self.archive is None:
            self.looked.unavailable.append(f"what Kafka has dropped of {responses}")
            return
        topic = self.topics.commands(aggregate_type)
        for number in range(len(self.cut.decided[topic])):
            for source, name, status, duplicate in self.archive.outcomes(topic, number):
                if seen.counts(source) and self.only in (None, name):
                    what = _response(status, duplicate)
                    self.looked.at["outcomes from SQL"] += seen.fill_in(what, source)

    def _partition(self, aggregate_type: str, number: int, seen: OutcomeAudit) -> Iterator[Finding]:
        responses = TopicPartition(self.topics.responses(aggregate_type), number)
        histories = Histories(aggregate_type, not self._kept(responses).start)
        yield from self._events(aggregate_type, number, histories, seen)
        for record in self._records(responses):
            response = yield from self._decoded(Response, record, aggregate_type)
            if response is None or not (
                yield from self._counts(seen, response.source, record, response.aggregate_id)
            ):
                continue
            what, place = _response(response.status, response.duplicate), _place(record)
            yield from seen.take(what, response.source, response.aggregate_id, place)
            histories.answer(response, place)
            self.looked.at["responses"] += 1
            self.looked.at["duplicates" if response.duplicate else response.status.lower()] += 1
        yield from histories.close()
        self.looked.at["aggregates"] += histories.aggregates

    def _note_unanswered(self, missing: Counter[str], aggregate_type: str) -> None:
        if missing:
            [(name, _)] = missing.most_common(1)
            self.looked.not_checked.append(
                f"{missing.total():,} outcomes of {len(missing):,} {aggregate_type} aggregates, "
                f"{name!r} among them, at skipped places"
            )

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
            name = placed.aggregate_id
            if isinstance(placed.content, StoredEvent):
                source = placed.content.event.source
                record = copies.record or RawRecord(*place, placed.place.offset, None, None)
                if not (yield from self._counts(seen, source, record, name)):
                    continue
                yield from seen.take(SeenOutcome.EVENT, source, name, placed.place)
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
    ) -> tuple[Iterator[Row], int]:
        if self.archive is None:
            return iter(()), 0
        reached = min(self.archive.standing().reached.get(place, 0), end)
        if self.only is None:
            return self.archive.whole(*place, reached), reached
        rows = self.archive.whole_of(aggregate_type, self.only)
        return (row for row in rows if row["offset"] < reached), reached

    def _dead_letters(self, outcomes: dict[str, OutcomeAudit]) -> Iterator[Finding]:
        for record in self._topic(self.topics.dead_letters):
            try:
                source = decode(DeadLetter, record.value or b"").source
            except ValueError:
                continue  # other services may put their own there
            for seen in outcomes.values():
                if seen.counts(source):
                    self.looked.at["dead letters"] += 1
                    yield from seen.take(SeenOutcome.LETTER, source, _key(record), _place(record))

    def _rejections(self, aggregate_type: str, seen: OutcomeAudit) -> Iterator[Finding]:
        for record in self._topic(self.topics.rejected(aggregate_type)):
            found = yield from self._decoded(Rejection, record, aggregate_type)
            if found is not None and (
                yield from self._counts(seen, found.source, record, found.aggregate_id)
            ):
                self.looked.at["rejections"] += 1
                name, place = found.aggregate_id, _place(record)
                yield from seen.take(SeenOutcome.REJECTION, found.source, name, place)

    def _commands(self, aggregate_type: str, seen: OutcomeAudit) -> Iterator[Finding]:
        for record in self._topic(self.topics.commands(aggregate_type)):
            if seen.counts(_place(record)):
                self.looked.at["commands"] += 1
                yield from seen.ask(_place(record), _key(record))

    def _counts(
        self, seen: OutcomeAudit, source: Source, record: RawRecord, name: str
    ) -> Generator[Finding, None, bool]:
        """Tell whether a record is of a command that counts; yield one of no command at all."""
        if seen.counts(source):
            return True
        begun = self.cut.begun.get(source.topic, ())
        if not (source.partition < len(begun) and source.offset < begun[source.partition]):
            what = f"names a command at {source}, where none is decided"
            yield Finding(Check.OUTCOMES, what, aggregate_id=name, place=_place(record))
        return False

    def _decoded(
        self, kind: type[Kind], record: RawRecord, aggregate_type: str
    ) -> Generator[Finding, None, Kind | None]:
        try:
            return decode(kind, record.value or b"")
        except ValueError as error:
            what = f"cannot be read: {error}"
            yield Finding(Check.OUTCOMES, what, aggregate_type, _key(record), place=_place(record))
            return None

    def _numbers(self, aggregate_type: str) -> list[int]:
        """Return the partitions of events and of responses, which may be more on one of them."""
        events = self.topics.events(aggregate_type)
        if self.only is not None:
            return [record_of_key(self.log, self.topics, events, self.only.encode()).partition]
        topics = (events, self.topics.responses(aggregate_type))
        return sorted({place.partition for place in self.cut.kept if place.topic in topics})

    def _kept(self, place: TopicPartition) -> OffsetRange:
        return self.cut.kept.get(place, OffsetRange(0, 0))

    def _topic(self, topic: str) -> Iterator[RawRecord]:
        for place in self.cut.kept:
            if place.topic == topic:
                yield from self._records(place)

    def _records(self, place: TopicPartition) -> Iterator[RawRecord]:
        key = None if self.only is None else self.only.encode()
        self.tell(str(place))
        for count, message in enumerate(self.log.read({place: self._kept(place)}), 1):
            if not count % EVERY:
                self.tell(f"{place}: {count:,} records")
            if key is None or message.key() == key:
                yield raw_record(message)


def _response(status: str, duplicate: bool) -> SeenOutcome:
    refused = status == Status.REJECTED and not duplicate
    return SeenOutcome.RESPONSE | (SeenOutcome.REFUSED if refused else SeenOutcome(0))


def _key(record: RawRecord) -> str:
    return (record.key or b"").decode(errors="backslashreplace")


def _place(record: RawRecord) -> Source:
    return Source(record.topic, record.partition, record.offset)

"""What a recovery skips: records that an operator names, and commands that Kafka has dropped.

A skipped event or response is left out of the fold. A skipped command becomes a dead letter, and
the decider begins after it. Undecided commands before it in its partition become dead letters, too,
and are sent again from there: nothing can be read up to just before a record that ends its reader.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import Offsets, ends, offsets_at, starts
from verdict.adapters.kafka.reader import KafkaLog, header_bytes, headers_of
from verdict.client.producer import source_of
from verdict.errors import VerdictError
from verdict.model.source import Source
from verdict.streaming.event_log.skip_log import skipped_ranges
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.wire.cloud_events import dead_letter_headers
from verdict.wire.command_record import CommandRecord, dead_letter, truncate_command
from verdict.wire.dead_letter_record import RETRY_POLICY
from verdict.wire.headers import joined
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.records import encode
from verdict.wire.skip_record import Kind, SkipRecord
from verdict.wire.topics import Topics

MOST_JUMPED = 100_000  # commands, with their bytes in one transaction; several batches are less


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipRequest:
    """What an operator asks of a recovery."""

    places: Sequence[tuple[Source, int]] = ()  # of each range: its first record, and its end
    quarantine: bool = False  # go on without aggregates whose history is damaged
    operator: str = ""
    reason: str = ""
    at: int = 0  # epoch milliseconds

    def record(self, source: Source, until: int, kind: Kind = Kind.SKIPPED) -> SkipRecord:
        """Return the record of a decision about the records from `source` to before `until`."""
        return SkipRecord(
            source=source,
            until_offset=until,
            operator=self.operator,
            reason=self.reason,
            decided_at=self.at,
            kind=kind,
        )


NO_WISH = SkipRequest()


class SkippedRange(NamedTuple):
    """Commands that the decider skips, and by whose decision; of `lost` ones Kafka has none."""

    topic: str
    partition: int
    start: int
    until: int
    lost: bool = False
    word: str = ""

    @property
    def last(self) -> Source:
        """The last command."""
        return Source(self.topic, self.partition, self.until - 1)

    def __str__(self) -> str:
        return f"{self.topic}:{self.partition} from offset {self.start} to {self.until - 1}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipLog:
    """The first offset and the end of each partition in Kafka; all but `commands` are folded."""

    commands: Sequence[str]
    begins: Offsets
    ends: Offsets


@dataclass(frozen=True, slots=True)
class SkipPlan:
    """What this run decides, which commands it skips, and where the decider begins after it."""

    decisions: list[SkipRecord] = field(default_factory=list)
    jumped: list[SkippedRange] = field(default_factory=list)
    offsets: Offsets = field(default_factory=dict)


def plan_skips(
    decided: Offsets, log: SkipLog, wish: SkipRequest, before: Iterable[SkipRecord]
) -> SkipPlan:
    """Return what a recovery skips; pure.

    Raises:
        VerdictError: There is no such record, it is decided already, or Kafka dropped commands
            before they were decided.
    """
    for place, until in wish.places:
        _require_record(place, until, decided, log)
    plan = SkipPlan(
        [wish.record(place, until) for place, until in wish.places],
        offsets={topic: [*by_partition] for topic, by_partition in decided.items()},
    )
    skips = [one for one in (*before, *plan.decisions) if one.kind is Kind.SKIPPED]
    _require_decided(decided, log, skips)
    for one in sorted(skips, key=lambda one: (one.source, one.until_offset)):
        topic, number = one.source.topic, one.source.partition
        start = offsets_at(plan.offsets, one.source)
        if topic in log.commands and start < one.until_offset:
            lost = log.begins[topic][number] >= one.until_offset
            word = f"{one.operator}: {one.reason}"
            jump = SkippedRange(topic, number, start, one.until_offset, lost, word)
            undecided = jump.until - jump.start
            if not lost and undecided > MOST_JUMPED:
                raise VerdictError(
                    f"{undecided} commands up to {jump.last} are undecided: let `verdict up` "
                    "decide what comes before it, batch by batch, then skip where it stops"
                )
            plan.jumped.append(jump)
            of_topic = plan.offsets.setdefault(topic, [])
            of_topic += [0] * (number + 1 - len(of_topic))
            of_topic[number] = one.until_offset
    return plan


def read_log(kafka: KafkaConfig, commands: Sequence[str], folded: Sequence[str]) -> SkipLog:
    """Return what Kafka has of the topics that are decided and of those that are folded."""
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        kept = log.bounds(log.places([*commands, *folded]))
    return SkipLog(commands=commands, begins=starts(kept), ends=ends(kept))


def dead_letters_of(
    kafka: KafkaConfig, plan: SkipPlan, topics: Topics, limit: int
) -> Iterator[OutputRecord]:
    """Yield the dead letters of the skipped commands."""
    for one in plan.jumped:
        if one.lost:
            reason = f"{one} dropped by Kafka before they were decided; {one.word}"
            yield _letter(topics, _unread(one.last), reason)
        else:
            yield from _of_range(kafka, one, topics, limit)


def _of_range(
    kafka: KafkaConfig, skipped: SkippedRange, topics: Topics, limit: int
) -> Iterator[OutputRecord]:
    reason = f"skipped by {skipped.word}"
    before = f"undecided when {skipped.last}, behind it, was {reason}; it is sent again"
    try:
        with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
            place = TopicPartition.of(skipped)
            start = max(skipped.start, log.bounds([place])[place].start)
            for message in log.read({place: OffsetRange(start, skipped.until)}):
                record, policy = _record(message, limit), _policy(message)
                if message.offset() == skipped.last.offset:
                    yield _letter(topics, record, reason)
                    return
                if place.topic != topics.retry or policy:  # else it is another service's
                    yield _letter(topics, record, before, policy)
    except VerdictError as error:
        reason += f"; it could not be read: {error}"
    yield _letter(topics, _unread(skipped.last), reason)


def _letter(
    topics: Topics, record: CommandRecord, error: str, again: dict[str, str] | None = None
) -> OutputRecord:
    letter = dead_letter(record, error)
    headers = dead_letter_headers(letter, None if again is None else 0) | (again or {})
    return OutputRecord(topics.dead_letters, letter.key, encode(letter), joined(headers))


def _unread(source: Source) -> CommandRecord:
    return CommandRecord(source, 0, None, None, 0, None)


def _policy(message: Message) -> dict[str, str]:
    """Return the header that names the policy of a retry, if there is one."""
    found = headers_of(message) or ()
    asked = [value for name, value in found if name == RETRY_POLICY and value is not None]
    return {RETRY_POLICY: asked[-1].decode(errors="replace")} if asked else {}


def _record(message: Message, limit: int) -> CommandRecord:
    kind, millis = message.timestamp()
    sent = 0 if kind == TIMESTAMP_NOT_AVAILABLE else millis
    key, value = header_bytes(message.key()), header_bytes(message.value())
    return truncate_command(source_of(message), sent, key, value, limit)


def _require_record(place: Source, until: int, decided: Offsets, log: SkipLog) -> None:
    kept = log.ends.get(place.topic)
    if kept is None:
        raise VerdictError(
            f"{place} is on no topic that a recovery reads: {', '.join(sorted(log.ends))}; "
            "`verdict skip` skips what stops a projection"
        )
    if place.partition >= len(kept) or until > kept[place.partition]:
        end = f"ends at {kept[place.partition]}" if place.partition < len(kept) else "is not there"
        raise VerdictError(f"there is no {replace(place, offset=until - 1)}: that partition {end}")
    reached = offsets_at(decided, place)
    if place.topic in log.commands and place.offset < reached:
        raise VerdictError(
            f"{place} is decided already, as all before offset {reached} is: it cannot be skipped "
            "any more; see `verdict history` or `verdict tail responses` for its outcome"
        )


def _require_decided(decided: Offsets, log: SkipLog, skips: Iterable[SkipRecord]) -> None:
    """Raise VerdictError if Kafka dropped commands undecided that no operator skipped."""
    skipped = skipped_ranges(skips)
    dropped = [
        SkippedRange(topic, number, reached, begin)
        for topic in log.commands
        for number, begin in enumerate(log.begins[topic])
        for place in [TopicPartition(topic, number)]
        for reached in [skipped.reached(place, OffsetRange(offsets_at(decided, place), begin))]
        if reached < begin
    ]
    if dropped:
        places = " ".join(f"{one.topic}:{one.partition}:{one.start}-{one.until}" for one in dropped)
        raise VerdictError(
            f"Kafka dropped commands before they were decided: {', '.join(map(str, dropped))}; "
            "tell their senders, who have no answer, then go on without these commands: "
            f"`verdict skip {places} --reason …`"
        )

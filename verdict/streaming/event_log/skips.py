"""What a recovery passes over: places that a person names, and commands that Kafka has dropped.

A place among events or responses is left out of the fold. A command is jumped: the decider begins
behind it, and it gets its dead letter. Those before it in its partition that are undecided cannot
be decided in between, as nothing can be read up to just before a record that ends its reader; each
gets a dead letter with its bytes, and is sent again by itself.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.message_headers import header_bytes, headers_of
from verdict.adapters.kafka.offsets import Offsets, ends, offsets_at, starts
from verdict.adapters.kafka.reader import KafkaLog
from verdict.client.producer import source_of
from verdict.errors import UnreachableError, VerdictError
from verdict.model.source import Source
from verdict.streaming.event_log.skip_log import skipped_ranges
from verdict.wire.cloud_events import dead_letter_headers
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.dead_letter_record import RETRY_POLICY
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.skip_record import Kind, SkipRecord
from verdict.write_side.decide.parse import CommandRecord, dead_letter, truncate_command

MOST_JUMPED = 100_000  # commands, with their bytes in one transaction; several batches are less


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipRequest:
    """What an operator asks of a recovery.

    Args:
        places: The first record of each stretch to skip, and the offset after its last one.
        quarantine: Whether to go on without aggregates whose history is damaged.
        operator: The operator.
        reason: The reason.
        at: When, in epoch milliseconds.
    """

    places: Sequence[tuple[Source, int]] = ()
    quarantine: bool = False
    operator: str = ""
    reason: str = ""
    at: int = 0


NO_WISH = SkipRequest()


class SkippedRange(NamedTuple):
    """A stretch of commands that the decider jumps, and on whose word; `lost`: Kafka has none."""

    topic: str
    partition: int
    start: int
    until: int
    lost: bool = False
    word: str = ""

    @property
    def last(self) -> Source:
        """The place that it is about."""
        return Source(self.topic, self.partition, self.until - 1)

    def __str__(self) -> str:
        return f"{self.topic}:{self.partition} from offset {self.start} to {self.until - 1}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipLog:
    """What Kafka holds: the first offset and the end of each partition, by topic.

    `commands` are those topics whose records are decided; the others are folded.
    """

    commands: Sequence[str]
    begins: Offsets
    ends: Offsets


@dataclass(frozen=True, slots=True)
class SkipPlan:
    """What is decided with this run, which commands are jumped, and where the decider begins.

    It is so, and on record, when the run has come to its end.
    """

    decisions: list[SkipRecord] = field(default_factory=list)
    jumped: list[SkippedRange] = field(default_factory=list)
    offsets: Offsets = field(default_factory=dict)


def plan_skips(
    decided: Offsets, log: SkipLog, wish: SkipRequest, before: Iterable[SkipRecord]
) -> SkipPlan:
    """Return what a recovery does about what cannot be read; pure.

    Raises:
        VerdictError: There is no such place, it is decided already, or Kafka dropped commands
            before they were decided.
    """
    for place, until in wish.places:
        _require_record(place, until, decided, log)
    before = [*before]
    decisions = [_decision(wish, place, until) for place, until in wish.places]
    _refuse(_dropped(decided, log, [*before, *decisions]))
    offsets = {topic: [*by_partition] for topic, by_partition in decided.items()}
    jumped = []
    skips = [one for one in (*before, *decisions) if one.kind is Kind.SKIPPED]
    for one in sorted(skips, key=lambda one: (one.source, one.until_offset)):
        topic, number = one.source.topic, one.source.partition
        start = offsets_at(offsets, one.source)
        if topic in log.commands and start < one.until_offset:
            gone = log.begins[topic][number] >= one.until_offset
            jump = SkippedRange(
                topic, number, start, one.until_offset, gone, f"{one.operator}: {one.reason}"
            )
            _require_near(jump)
            jumped.append(jump)
            of_topic = offsets.setdefault(topic, [])
            of_topic += [0] * (number + 1 - len(of_topic))
            of_topic[number] = one.until_offset
    return SkipPlan(decisions, jumped, offsets)


def read_log(kafka: KafkaConfig, commands: Sequence[str], folded: Sequence[str]) -> SkipLog:
    """Return what Kafka holds of the topics that are decided and of those that are folded.

    Raises:
        UnreachableError: Kafka does not answer.
    """
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        kept = log.bounds(log.places([*commands, *folded]))
    return SkipLog(commands=commands, begins=starts(kept), ends=ends(kept))


def require_records(kafka: KafkaConfig, log: SkipLog, places: Iterable[tuple[Source, int]]) -> None:
    """Return if each place has a record that can be skipped; commands are looked at elsewhere.

    Raises:
        VerdictError: At one there is none.
        UnreachableError: Kafka does not answer.
    """
    for place, until in places:
        if place.topic in log.commands or until > place.offset + 1:
            continue
        if place.offset >= log.begins[place.topic][place.partition] and not _is_there(kafka, place):
            raise VerdictError(
                f"there is no record at {place}: Kafka uses that offset itself, or a transaction "
                "was given up there; there is nothing to skip"
            )


def _is_there(kafka: KafkaConfig, place: Source) -> bool:
    partition = TopicPartition.of(place)
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        try:
            return (
                next(log.read({partition: OffsetRange(place.offset, place.offset + 1)}), None)
                is not None
            )
        except UnreachableError:
            raise
        except VerdictError:
            return True  # it ends who reads it, which is why it is passed over


class SkippedCommand(NamedTuple):
    """A dead letter and its headers."""

    letter: DeadLetter
    headers: Mapping[str, str]


def dead_letters_of(kafka: KafkaConfig, plan: SkipPlan, limit: int) -> Iterator[SkippedCommand]:
    """Yield the dead letters of the commands that are jumped."""
    for one in plan.jumped:
        if one.lost:
            reason = f"{one} dropped by Kafka before they were decided; {one.word}"
            yield _letter(CommandRecord(one.last, 0, None, None, 0, None), reason)
        else:
            yield from _of_stretch(kafka, one, limit)


def _of_stretch(kafka: KafkaConfig, passed: SkippedRange, limit: int) -> Iterator[SkippedCommand]:
    reason = f"passed over by {passed.word}"
    try:
        with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
            place = TopicPartition.of(passed)
            start = max(passed.start, log.bounds([place])[place].start)
            for message in log.read({place: OffsetRange(start, passed.until)}):
                if message.offset() == passed.last.offset:
                    yield _letter(_record(message, limit), reason)
                    return
                before = f"undecided when {passed.last}, behind it, was {reason}; it is sent again"
                letter, headers = _letter(_record(message, limit), before, attempt=0)
                yield SkippedCommand(letter, {**headers, **_reaction(message)})
    except VerdictError as error:
        reason += f"; it could not be read: {error}"
    yield _letter(CommandRecord(passed.last, 0, None, None, 0, None), reason)


def _letter(record: CommandRecord, error: str, attempt: int | None = None) -> SkippedCommand:
    letter = dead_letter(record, error)
    return SkippedCommand(letter, dead_letter_headers(letter, attempt))


def _reaction(message: Message) -> dict[str, str]:
    """Return the header that says which reaction a retry asks for, if it does."""
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


def _require_near(jump: SkippedRange) -> None:
    undecided = jump.until - jump.start
    if not jump.lost and undecided > MOST_JUMPED:
        raise VerdictError(
            f"{undecided} commands up to {jump.last} are undecided: let `verdict up` decide what "
            "lies before it, which it does batch by batch, then pass over where it stops"
        )


def _dropped(
    decided: Offsets, log: SkipLog, decisions: Iterable[SkipRecord] = ()
) -> Iterator[SkippedRange]:
    """Yield commands that Kafka dropped before they were decided, and that nobody skipped."""
    skipped = skipped_ranges(decisions)
    for topic in log.commands:
        for number, begin in enumerate(log.begins[topic]):
            place = TopicPartition(topic, number)
            reached = skipped.reached(place, OffsetRange(offsets_at(decided, place), begin))
            if reached < begin:
                yield SkippedRange(topic, number, reached, begin, lost=True)


def _refuse(dropped: Iterable[SkippedRange]) -> None:
    found = [*dropped]
    if found:
        skips = " ".join(f"{one.topic}:{one.partition}:{one.start}-{one.until}" for one in found)
        raise VerdictError(
            f"Kafka dropped commands before they were decided: {', '.join(map(str, found))}; "
            "tell their senders, who have no answer, then go on without these commands: "
            f"`verdict skip {skips} --reason …`"
        )


def _decision(wish: SkipRequest, place: Source, until: int) -> SkipRecord:
    return SkipRecord(
        source=place,
        until_offset=until,
        operator=wish.operator,
        reason=wish.reason,
        decided_at=wish.at,
    )

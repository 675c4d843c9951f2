"""What a recovery skips: records that an operator names, and commands that Kafka has dropped.

A skipped event or response is left out of the fold. A skipped command becomes a dead letter, and
the decider begins after it. Undecided commands before it in its partition become dead letters, too,
and are sent again from there: nothing can be read up to just before a record that ends its reader.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import Offsets, ends, offsets_at, starts
from verdict.adapters.kafka.reader import KafkaLog, header_bytes, headers_of
from verdict.client.producer import source_of
from verdict.errors import UnreachableError, VerdictError
from verdict.model.source import Source
from verdict.streaming.event_log.skip_log import skipped_ranges
from verdict.wire.cloud_events import dead_letter_headers
from verdict.wire.command_record import CommandRecord, dead_letter, truncate_command
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.dead_letter_record import RETRY_POLICY
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.skip_record import Kind, SkipRecord

MOST_JUMPED = 100_000  # commands, with their bytes in one transaction; several batches are less


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipRequest:
    """What an operator asks of a recovery.

    `places` has the first record of each stretch to skip, and the offset after its last one.
    `quarantine` says whether to go on without aggregates whose history is damaged. `at` is in epoch
    milliseconds.
    """

    places: Sequence[tuple[Source, int]] = ()
    quarantine: bool = False
    operator: str = ""
    reason: str = ""
    at: int = 0

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
    before = [*before]
    decisions = [wish.record(place, until) for place, until in wish.places]
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
            undecided = jump.until - jump.start
            if not gone and undecided > MOST_JUMPED:
                raise VerdictError(
                    f"{undecided} commands up to {jump.last} are undecided: let `verdict up` "
                    "decide what comes before it, batch by batch, then skip where it stops"
                )
            jumped.append(jump)
            of_topic = offsets.setdefault(topic, [])
            of_topic += [0] * (number + 1 - len(of_topic))
            of_topic[number] = one.until_offset
    return SkipPlan(decisions, jumped, offsets)


def read_log(kafka: KafkaConfig, commands: Sequence[str], folded: Sequence[str]) -> SkipLog:
    """Return what Kafka has of the topics that are decided and of those that are folded."""
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        kept = log.bounds(log.places([*commands, *folded]))
    return SkipLog(commands=commands, begins=starts(kept), ends=ends(kept))


def require_records(kafka: KafkaConfig, log: SkipLog, places: Iterable[tuple[Source, int]]) -> None:
    """Return if each place has a record that can be skipped; commands are looked at elsewhere.

    Raises:
        VerdictError: At one there is none.
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
    spans = {TopicPartition.of(place): OffsetRange(place.offset, place.offset + 1)}
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        try:
            return next(log.read(spans), None) is not None
        except UnreachableError:
            raise
        except VerdictError:
            return True  # it ends its reader, which is why it is skipped


class SkippedCommand(NamedTuple):
    """A dead letter and its headers."""

    letter: DeadLetter
    headers: Mapping[str, str]


def dead_letters_of(kafka: KafkaConfig, plan: SkipPlan, limit: int) -> Iterator[SkippedCommand]:
    """Yield the dead letters of the skipped commands."""
    for one in plan.jumped:
        if one.lost:
            yield _letter_of(one, f"{one} dropped by Kafka before they were decided; {one.word}")
        else:
            yield from _of_stretch(kafka, one, limit)


def _of_stretch(kafka: KafkaConfig, passed: SkippedRange, limit: int) -> Iterator[SkippedCommand]:
    reason = f"skipped by {passed.word}"
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
                yield SkippedCommand(letter, {**headers, **_policy(message)})
    except VerdictError as error:
        reason += f"; it could not be read: {error}"
    yield _letter_of(passed, reason)


def _letter_of(skipped: SkippedRange, error: str) -> SkippedCommand:
    return _letter(CommandRecord(skipped.last, 0, None, None, 0, None), error)


def _letter(record: CommandRecord, error: str, attempt: int | None = None) -> SkippedCommand:
    letter = dead_letter(record, error)
    return SkippedCommand(letter, dead_letter_headers(letter, attempt))


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


def _dropped(
    decided: Offsets, log: SkipLog, decisions: Iterable[SkipRecord] = ()
) -> Iterator[SkippedRange]:
    """Yield commands that Kafka dropped undecided, and that no operator skipped."""
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

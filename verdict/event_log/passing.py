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

from verdict.client.outbox import source_of
from verdict.decision.received import CommandRecord, arrived, dead_letter
from verdict.errors import Unreachable, VerdictError
from verdict.event_log.decisions import passed_over
from verdict.kafka.access import Kafka
from verdict.kafka.log import KafkaLog
from verdict.kafka.message_headers import bytes_of, headers_of
from verdict.kafka.offsets import Offsets, at, ends, starts
from verdict.model.source import Source
from verdict.wire.cloud_events import dead_letter_headers
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.decision import DROPPED, Decision, Lost
from verdict.wire.letter import RETRY_REACTION
from verdict.wire.spans import Partition, Span

MOST_JUMPED = 100_000  # commands, with their bytes in one transaction; several batches are less
ACCEPT = "`verdict recover --accept-lost --why …`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What somebody asks of a recovery: the places to pass over, and whether lost commands are."""

    places: Sequence[Source] = ()
    accept_lost: bool = False
    who: str = ""
    why: str = ""
    at: int = 0


NO_WISH = Wish()


class Passed(NamedTuple):
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
class Log:
    """What Kafka holds: the first offset and the end of each partition, by topic.

    `commands` are those topics whose records are decided; the others are folded. Of those of which
    Kafka has dropped some, `archived` says how far an archive has them.
    """

    commands: Sequence[str]
    begins: Offsets
    ends: Offsets
    archived: Offsets = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is decided with this run, which commands are jumped, and where the decider begins.

    It is so, and on record, when the run has come to its end.
    """

    decisions: list[Decision] = field(default_factory=list)
    jumped: list[Passed] = field(default_factory=list)
    offsets: Offsets = field(default_factory=dict)


def planned(decided: Offsets, log: Log, wish: Wish, before: Iterable[Decision]) -> Plan:
    """Return what a recovery does about what cannot be read; pure.

    Args:
        decided: Of each commands topic, the next offset by partition.
        log: Of the topics of commands, events and responses.
        wish: What is asked for now.
        before: Decisions of earlier runs.

    Raises:
        VerdictError: There is no such place, it is decided already, or commands are lost and
            nobody has accepted that.
    """
    for place in wish.places:
        _see_that_it_is_there(place, decided, log)
    before = [*before]
    lost = [*_lost(decided, log, before)]
    if not wish.accept_lost:
        _refuse(lost, log.commands)
    decisions = [_decision(wish, place, place.offset + 1) for place in wish.places]
    decisions += [_accepted(wish, gone, log) for gone in lost]
    offsets = {topic: [*by_partition] for topic, by_partition in decided.items()}
    jumped = []
    for one in sorted([*before, *decisions], key=lambda one: (one.source, one.until)):
        topic, number = one.source.topic, one.source.partition
        start = at(offsets, one.source)
        if topic in log.commands and start < one.until:
            gone = log.begins[topic][number] >= one.until
            jump = Passed(topic, number, start, one.until, gone, f"{one.who}: {one.why}")
            _see_that_it_is_near(jump)
            jumped.append(jump)
            of_topic = offsets.setdefault(topic, [])
            of_topic += [0] * (number + 1 - len(of_topic))
            of_topic[number] = one.until
    return Plan(decisions, jumped, offsets)


def about_lost(
    lost: Iterable[tuple[Source, Lost]], wish: Wish, before: Sequence[Decision]
) -> list[Decision]:
    """Return that aggregates are lost, as far as nobody has said it yet.

    Args:
        lost: Each with the place where its events end.
        wish: That accepts it, when there are new ones.
        before: All that was decided so far.
    """
    known = {one.lost for one in before}
    new = [(place, one) for place, one in lost if one not in known]
    assert wish.accept_lost or not new, f"nobody has accepted that these are lost: {new}"
    return [replace(_decision(wish, place, place.offset), lost=one) for place, one in new]


def read_log(kafka: Kafka, commands: Sequence[str], folded: Sequence[str]) -> Log:
    """Return what Kafka holds of the topics that are decided and of those that are folded.

    Raises:
        Unreachable: Kafka does not answer.
    """
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        kept = log.bounds(log.places([*commands, *folded]))
    return Log(commands=commands, begins=starts(kept), ends=ends(kept))


def see_that_records_are_there(kafka: Kafka, log: Log, places: Iterable[Source]) -> None:
    """Return when at each place lies what can be passed over; commands are looked at elsewhere.

    Args:
        kafka: Where they lie.
        log: What it holds.
        places: Before the ends of their partitions.

    Raises:
        VerdictError: At one there is none, and nobody has archived one.
        Unreachable: Kafka does not answer.
    """
    for place in places:
        if place.topic in log.commands:
            continue
        if place.offset < log.begins[place.topic][place.partition]:
            if place.offset >= at(log.archived, place):
                raise VerdictError(f"Kafka has dropped {place}: there is nothing to pass over")
        elif not _is_there(kafka, place):
            raise VerdictError(
                f"there is no record at {place}: Kafka uses that offset itself, or a transaction "
                "was given up there; there is nothing to pass over"
            )


def _is_there(kafka: Kafka, place: Source) -> bool:
    partition = Partition.of(place)
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        try:
            return (
                next(log.read({partition: Span(place.offset, place.offset + 1)}), None) is not None
            )
        except Unreachable:
            raise
        except VerdictError:
            return True  # it ends who reads it, which is why it is passed over


class Letter(NamedTuple):
    """A dead letter and its headers."""

    letter: DeadLetter
    headers: Mapping[str, str]


def letters(kafka: Kafka, plan: Plan, limit: int) -> Iterator[Letter]:
    """Yield the dead letters of the commands that are jumped.

    Args:
        kafka: Where they lie.
        plan: What is jumped.
        limit: How many bytes of a command are kept.
    """
    for one in plan.jumped:
        if one.lost:
            reason = f"{one} dropped by Kafka before they were decided; {one.word}"
            yield _letter(CommandRecord(one.last, 0, None, None, 0, None), reason)
        else:
            yield from _of_stretch(kafka, one, limit)


def _of_stretch(kafka: Kafka, passed: Passed, limit: int) -> Iterator[Letter]:
    reason = f"passed over by {passed.word}"
    try:
        with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
            place = Partition.of(passed)
            start = max(passed.start, log.bounds([place])[place].start)
            for message in log.read({place: Span(start, passed.until)}):
                if message.offset() == passed.last.offset:
                    yield _letter(_record(message, limit), reason)
                    return
                before = f"undecided when {passed.last}, behind it, was {reason}; it is sent again"
                letter, headers = _letter(_record(message, limit), before, attempt=0)
                yield Letter(letter, {**headers, **_reaction(message)})
    except VerdictError as error:
        reason += f"; it could not be read: {error}"
    yield _letter(CommandRecord(passed.last, 0, None, None, 0, None), reason)


def _letter(record: CommandRecord, error: str, attempt: int | None = None) -> Letter:
    letter = dead_letter(record, error)
    return Letter(letter, dead_letter_headers(letter, attempt))


def _reaction(message: Message) -> dict[str, str]:
    """Return the header that says which reaction a retry asks for, if it does."""
    found = headers_of(message) or ()
    asked = [value for name, value in found if name == RETRY_REACTION and value is not None]
    return {RETRY_REACTION: asked[-1].decode(errors="replace")} if asked else {}


def _record(message: Message, limit: int) -> CommandRecord:
    kind, millis = message.timestamp()
    sent = 0 if kind == TIMESTAMP_NOT_AVAILABLE else millis
    key, value = bytes_of(message.key()), bytes_of(message.value())
    return arrived(source_of(message), sent, key, value, limit)


def _see_that_it_is_there(place: Source, decided: Offsets, log: Log) -> None:
    kept = log.ends.get(place.topic)
    if kept is None:
        raise VerdictError(
            f"{place} is on no topic that a recovery reads: {', '.join(sorted(log.ends))}; "
            "`verdict skip` skips what stops a projection"
        )
    if place.partition >= len(kept) or place.offset >= kept[place.partition]:
        end = f"ends at {kept[place.partition]}" if place.partition < len(kept) else "is not there"
        raise VerdictError(f"there is no {place}: that partition {end}")
    reached = at(decided, place)
    if place.topic in log.commands and place.offset < reached:
        raise VerdictError(
            f"{place} is decided already, as all before offset {reached} is: nothing passes it "
            "over any more; see `verdict history` or `verdict tail responses` for its outcome"
        )


def _see_that_it_is_near(jump: Passed) -> None:
    undecided = jump.until - jump.start
    if not jump.lost and undecided > MOST_JUMPED:
        raise VerdictError(
            f"{undecided} commands up to {jump.last} are undecided: let `verdict up` decide what "
            "lies before it, which it does batch by batch, then pass over where it stops"
        )


def _lost(decided: Offsets, log: Log, before: Iterable[Decision] = ()) -> Iterator[Passed]:
    accepted, needed = passed_over(before), decided | log.archived
    for topic in (*log.commands, *log.archived):
        for number, begin in enumerate(log.begins[topic]):
            place = Partition(topic, number)
            reached = accepted.reached(place, Span(at(needed, place), begin))
            if reached < begin:
                yield Passed(topic, number, reached, begin, lost=True)


def _refuse(lost: Sequence[Passed], commands: Sequence[str]) -> None:
    undecided = [str(one) for one in lost if one.topic in commands]
    events = [str(one) for one in lost if one.topic not in commands]
    if undecided:
        raise VerdictError(
            f"Kafka dropped commands before they were decided: {', '.join(undecided)}; "
            f"their senders have no answer: tell them, then accept it with {ACCEPT}"
        )
    if events:
        raise VerdictError(
            f"Kafka dropped events, and no archive has them: {', '.join(events)}; name the read "
            f"side whose archive has them with --database-url; else accept it with {ACCEPT}, which "
            "then names the aggregates that lack some"
        )


def _accepted(wish: Wish, gone: Passed, log: Log) -> Decision:
    made = _decision(wish, Source(*gone[:3]), gone.until)
    return made if gone.topic in log.commands else replace(made, lost=DROPPED)


def _decision(wish: Wish, place: Source, until: int) -> Decision:
    return Decision(source=place, until=until, who=wish.who, why=wish.why, decided_at=wish.at)

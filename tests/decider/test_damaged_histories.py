"""C-04, C-17: what recovery does about damaged histories, against a model that knows the truth.

The model is of one aggregate whose log is damaged and restored. It knows which events were ever
published, and which record is good, forged or garbage. So it can tell whether a history is whole
without folding one.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from random import Random
from typing import Any

import pytest

from commands.position import AdjustPosition, OpenPosition
from tests.application import APPLICATION, decode_event, decode_snapshot, encode_event
from tests.decide.desk import OPEN, command
from verdict.model.reason import Reason
from verdict.model.source import Source
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.records import decode, encode
from verdict.wire.response import Response
from verdict.wire.skip_record import Kind, SkipRecord
from verdict.wire.topics import Topics
from verdict.write_side.decide.command_checks import Limits
from verdict.write_side.decide.snapshot import NEVER_EXISTED, Snapshot
from verdict.write_side.processor.batch import ShardBatch
from verdict.write_side.recovery.histories import (
    DECISION,
    EVENT,
    RESPONSE,
    Memory,
    Stored,
    fold_histories,
)
from verdict.write_side.state.shard_state import DictState, snapshot_key

TOPICS = Topics(APPLICATION)
KEY = b"order-1"
COMMANDS = TOPICS.commands("position")
LIMITS = Limits()


class Is(Enum):
    GOOD = auto()
    FORGED = auto()
    GARBAGE = auto()


@dataclass(slots=True)
class Event:
    """A record of the events topic; garbage has no known version."""

    kind: Is
    version: int
    value: bytes
    offset: int
    skipped: bool = False


@dataclass
class World:
    """What happened, what Kafka has of it, and what the decider knows.

    `truth` has each event that was ever published, `answers` each original response by command id.
    """

    random: Random
    truth: list[bytes] = field(default_factory=list)
    answers: dict[str, Response] = field(default_factory=dict)
    log: list[Event] = field(default_factory=list)
    responses: list[tuple[int, bytes]] = field(default_factory=list)
    state: DictState = field(default_factory=DictState)
    quarantine: SkipRecord | None = None
    sent: int = 0
    end: int = 0

    def send(self, command_id: str | None = None) -> Response:
        """Let the decider decide one command; return its response."""
        payload: OpenPosition | AdjustPosition = AdjustPosition(amount=self.sent + 1)
        if not self.truth:
            payload = OPEN
        name = command_id or f"c-{self.sent}"
        if (known := self.answers.get(name)) is not None:
            number = int(name.removeprefix("c-"))
            payload = AdjustPosition(amount=number + 1) if known.from_version else OPEN
        record = command(payload, offset=self.sent, command_id=name).record
        batch = ShardBatch(TOPICS, LIMITS, self.state)
        outputs = [*batch.decide([record])]
        batch.commit()
        self.sent += 1
        [answer] = [decode(Response, out.value) for out in outputs if "responses" in out.topic]
        for out in outputs:
            if out.topic.endswith(".events"):
                self.truth.append(out.value)
                self._append(Is.GOOD, len(self.truth), out.value)
            elif out.topic.endswith(".responses"):
                self.responses.append((self.sent, out.value))
        if not answer.duplicate and answer.reason is None:
            self.answers[name] = answer
        return answer

    def recover(self) -> bool:
        """Fold as a recovery does, with --quarantine; return whether the aggregate is whole."""
        memory = Memory(LIMITS, 0, {COMMANDS: [self.sent]})
        folded = [*fold_histories(APPLICATION, self._stored(), memory)]
        if self.quarantine or any(one.decision for one in folded):
            answered = {decode(Response, value).source.offset for _, value in self.responses}
            lacking = [OffsetRange(one, one + 1) for one in range(self.sent) if one not in answered]
            memory = memory._replace(unanswered={TopicPartition(COMMANDS, 0): lacking})
            folded = [*fold_histories(APPLICATION, self._stored(), memory)]
        assert [one.fault for one in folded if one.fault] == []
        self.state = DictState()
        for one in sorted(folded, key=lambda one: one.offset):
            assert one.entry is not None
            self.state.entries[one.key] = one.entry
            if one.decision is not None:
                is_lifted = one.decision.kind is Kind.LIFTED
                self.quarantine = None if is_lifted else one.decision
        return not self.snapshot.quarantined

    def knows(self, command_id: str) -> bool:
        """Tell whether the first response to a command is there."""
        told = (decode(Response, value) for _, value in self.responses)
        first = (one for one in told if one.reason is None and not one.duplicate)
        return command_id in {one.command_id for one in first}

    @property
    def snapshot(self) -> Snapshot[Any]:
        """What the decider knows of the aggregate."""
        kept = self.state.get(snapshot_key("position", KEY.decode()))
        return NEVER_EXISTED if kept is None else decode_snapshot("position", kept)

    @property
    def is_whole(self) -> bool:
        """Whether all that ever happened is there, and nothing else is taken for it."""
        shown = [one for one in self.log if not one.skipped]
        if any(one.kind is not Is.GOOD for one in shown):
            return False
        if {one.version for one in shown} != {*range(1, len(self.truth) + 1)}:
            return False
        return all(self._is_harmless(one) for one in self.log if one.skipped)

    @property
    def known(self) -> int:
        """The last version that a response or the quarantine on record tells of."""
        aggregate = self.quarantine.aggregate if self.quarantine else None
        return max(self.answered, aggregate.last_version if aggregate else 0)

    @property
    def answered(self) -> int:
        """The last version that a response tells of."""
        told = (decode(Response, value).to_version or 0 for _, value in self.responses)
        return max(told, default=0)

    def damage(self) -> None:
        """Damage the log in one way; no version gets lost that nothing else tells of."""
        told = [one for one in self.log if 0 < one.version <= self.known]
        ways = [self._forge, self._add_garbage, self._repeat]
        if told:
            ways += [self._remove, self._alter, self._garble, self._cut] * 2
        if self._can_lose_responses:
            ways += [self._lose_responses] * 3
        self.random.choice(ways)()

    def skip(self) -> None:
        """Let an operator skip a record, as far as something else tells of it."""
        candidates = [
            one
            for one in self.log
            if one.version <= self.known or one.kind is not Is.GOOD
        ]  # fmt: skip
        bad = [one for one in candidates if one.kind is not Is.GOOD]
        if candidates:
            self.random.choice(
                bad if bad and self.random.random() < 0.8 else candidates
            ).skipped = True

    def restore(self) -> None:
        """Bring back what is missing, behind all that is there."""
        if self.random.random() < 0.5:
            self.log = [one for one in self.log if one.kind is Is.GOOD]
        there = {one.version for one in self.log if one.kind is Is.GOOD and not one.skipped}
        for version, value in enumerate(self.truth, 1):
            if version not in there:
                self._append(Is.GOOD, version, value)

    def _is_harmless(self, one: Event) -> bool:
        is_confirmed = self.answered == len(self.truth) > 0
        return is_confirmed if one.kind is Is.GARBAGE else one.version <= len(self.truth)

    def _append(self, kind: Is, version: int, value: bytes) -> None:
        self.log.append(Event(kind, version, value, self.end))
        self.end += 1

    def _pick(self) -> Event:
        return self.random.choice([one for one in self.log if 0 < one.version <= self.known])

    def _remove(self) -> None:
        self.log.remove(self._pick())

    def _cut(self) -> None:
        first = self._pick().version
        self.log = [one for one in self.log if not first <= one.version <= self.known]

    def _garble(self) -> None:
        one = self._pick()
        one.kind, one.value = Is.GARBAGE, b"garbage"

    def _alter(self) -> None:
        one = self._pick()
        if one.kind is not Is.GARBAGE and one.version <= self.answered:
            event = decode_event("position", one.value)
            one.kind, one.value = Is.FORGED, encode_event(event._replace(actor="mallory"))

    def _repeat(self) -> None:
        good = [one for one in self.log if one.kind is Is.GOOD]
        if good:
            one = self.random.choice(good)
            self._append(Is.GOOD, one.version, one.value)

    def _add_garbage(self) -> None:
        self._append(Is.GARBAGE, 0, b"?")

    def _forge(self) -> None:
        if not self.truth:
            return
        last = decode_event("position", self.truth[-1])
        version = len(self.truth) + self.random.choice([1, 1, 5, 1000])
        previous = self.random.choice([self._last_hash, b"elsewhere"])
        source = Source(COMMANDS, 0, 10**6)  # of no command that was decided
        forged = last._replace(
            version=version, previous_hash=previous, source=source, actor="mallory"
        )
        self._append(Is.FORGED, version, encode_event(forged))

    @property
    def _last_hash(self) -> bytes:
        last = self.state.get(snapshot_key("position", KEY.decode()))
        return b"" if last is None else decode_snapshot("position", last).last_hash

    @property
    def _can_lose_responses(self) -> bool:
        """Whether something else tells of the versions, as their events or a quarantine."""
        is_told = self.is_whole if self.quarantine is None else self.known == len(self.truth)
        is_forged = any(one.kind is Is.FORGED for one in self.log)  # hashes tell of the last one
        return len(self.responses) > 1 and is_told and not is_forged

    def _lose_responses(self) -> None:
        del self.responses[-self.random.randint(1, len(self.responses) - 1) :]

    def _stored(self) -> Iterator[Stored]:
        if (made := self.quarantine) is not None:
            yield Stored("position", DECISION, "decisions", 0, 0, KEY, encode(made))
        for offset, value in self.responses:
            yield Stored("position", RESPONSE, TOPICS.responses("position"), 0, offset, KEY, value)
        for one in sorted(self.log, key=lambda one: one.offset):
            topic, at = TOPICS.events("position"), one.offset
            yield Stored("position", EVENT, topic, 0, at, KEY, one.value, skipped=one.skipped)


def lived(seed: int) -> Counter[str]:
    """Let a world be damaged, recovered, restored and used; return how often what happened."""
    random = Random(seed)
    world, seen = World(random), Counter[str]()
    for _ in range(40):
        act = random.choice(["send"] * 4 + ["again", "damage", "skip", "restore", "recover"])
        if act == "send":
            send(world, seen)
        elif act == "again" and world.answers:
            send_again(world, random.choice([*world.answers]))
        elif act in ("damage", "skip", "restore"):
            for _ in range(random.choice([1, 1, 3])):
                getattr(world, act)()
            recover(world, seen)
        else:
            recover(world, seen)
    return seen


def recover(world: World, seen: Counter[str]) -> None:
    """Recover, and compare with what the model knows."""
    was_quarantined = world.quarantine is not None
    expected = world.is_whole

    is_whole = world.recover()

    assert is_whole == expected
    assert (world.quarantine is None) == is_whole
    if is_whole:
        assert world.snapshot.version == len(world.truth), "no version is lost or invented"
    seen["lifted" if was_quarantined and is_whole else "whole" if is_whole else "damaged"] += 1


def send(world: World, seen: Counter[str]) -> None:
    """Send a new command: a quarantined aggregate rejects it, any other goes on."""
    before = len(world.truth)

    answer = world.send()

    if world.snapshot.quarantined:
        assert (answer.reason, len(world.truth)) == (Reason.QUARANTINED, before)
        assert (answer.from_version, answer.to_version, answer.last_hash) == (None, None, None)
        seen["rejected"] += 1
    else:
        assert (answer.reason, answer.to_version) == (None, before + 1)


def send_again(world: World, command_id: str) -> None:
    """Send a known command again: its first outcome counts, quarantined or not.

    While the history is damaged, events do not stand in for a response that is lost.
    """
    before, first = len(world.truth), world.answers[command_id]
    is_known = world.knows(command_id)

    answer = world.send(command_id)

    if not is_known and answer.reason is Reason.QUARANTINED:
        assert len(world.truth) == before
        return
    assert (answer.duplicate, len(world.truth)) == (True, before)
    assert (answer.status, answer.to_version) == (first.status, first.to_version)
    assert answer.event_ids == first.event_ids


@pytest.mark.proves("C-04", "C-17")
@pytest.mark.parametrize(
    "seeds", [range(80), pytest.param(range(1000, 1500), marks=pytest.mark.long)], ids=str
)
def test_no_version_is_lost_invented_or_given_twice_whatever_is_damaged(seeds: range) -> None:
    seen = Counter[str]()
    for seed in seeds:
        try:
            seen += lived(seed)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise

    assert min(seen[what] for what in ("whole", "damaged", "lifted", "rejected")) > len(seeds) / 4

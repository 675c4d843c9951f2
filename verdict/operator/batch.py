"""One shard's part of a micro-batch: read, decide one by one in memory, write what changed."""

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any, NamedTuple

from verdict.application import current
from verdict.decision.answering import malformed
from verdict.decision.handle import Limits, handle
from verdict.decision.received import (
    CommandRecord,
    ReceivedCommand,
    dead_letter,
    receive,
)
from verdict.decision.snapshot import NEVER_EXISTED, Snapshot, SnapshotCodec, snapshot_codec
from verdict.model.aggregate import Aggregate
from verdict.model.reason import Reason
from verdict.operator.output import Output, Outputs
from verdict.operator.shard_state import SEPARATOR, Entry, ShardState, outcome_key, snapshot_key
from verdict.wire.avro_pieces import text_in
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.records import decode, encode
from verdict.wire.response import Response
from verdict.wire.topics import Topics

# Beyond what is promised: it is room for two leaps of the clock, see `LONGEST_STEP_MS`.
FORGET_AFTER_MS = 24 * 60 * 60 * 1000


class ShardBatch:
    """Decides the commands of one shard in one micro-batch.

    The same records on the same state give the same outputs, in whatever order they are handed
    in. Nothing is written before `commit`.

    Args:
        topics: Where outputs go, and which aggregate a commands topic belongs to.
        limits: What bounds a decision.
        state: The shard's state, opened.
    """

    def __init__(self, topics: Topics, limits: Limits, state: ShardState) -> None:
        self._topics = topics
        self._limits = limits
        self._outputs = Outputs(topics)
        self._state = state
        self._changed: dict[bytes, Entry] = {}
        self._snapshots: dict[bytes, Snapshot[Any]] = {}
        self._desks: dict[str, _Desk] = {}

    def decide(self, records: Iterable[CommandRecord]) -> Iterator[Output]:
        """Give every record its one outcome, in the order of (topic, partition, offset).

        All records are taken before the first is decided; outputs come one by one, so that a
        batch need not hold them all.
        """
        for record in sorted(records, key=attrgetter("place")):
            yield from self._decide(record)

    def commit(self, now: int = 0) -> None:
        """Write what changed into the shard's state; all outputs have been taken.

        Args:
            now: As `ShardState.commit` takes it.
        """
        self._state.commit(self._changed, now)

    def _decide(self, record: CommandRecord) -> list[Output]:
        desk = self._desk(record.source.topic)
        received = receive(desk.aggregate_type, record)
        if isinstance(received, ReceivedCommand):
            return self._judge(desk, received)
        if isinstance(received, DeadLetter):
            return [self._outputs.of_dead_letter(received)]
        key, answer = received.aggregate_id.encode(), encode(malformed(received))
        return self._outputs.of_answer(desk.aggregate_type, key, record, answer, received.reason)

    def _judge(self, desk: "_Desk", command: ReceivedCommand) -> list[Output]:
        key = command.record.key or b""
        at = desk.snapshots + key
        asked = desk.outcomes + key + SEPARATOR + text_in(command.envelope.command)
        before, earlier = self._snapshot(desk, at), self._earlier(asked)
        verdict = handle(desk.decider, before, command, earlier, self._limits)
        if verdict.stored is not None:
            self._snapshots[at] = verdict.snapshot
            self._changed[at] = Entry(verdict.stored)
        if verdict.remembered:
            self._changed[asked] = outcome_entry(verdict.answer, self._limits)
        outputs = self._outputs.of_verdict(verdict, command)
        if verdict.refused is Reason.HANDLER_ERROR:
            letter = dead_letter(command.record, f"HANDLER_ERROR {verdict.response.message}")
            outputs.append(self._outputs.of_failed(letter, command.record.attempt))
        return outputs

    def _snapshot(self, desk: "_Desk", key: bytes) -> Snapshot[Any]:
        if (known := self._snapshots.get(key)) is not None:
            return known
        stored = self._state.get(key)
        read = NEVER_EXISTED if stored is None else desk.codec.decode(stored)
        self._snapshots[key] = read
        return read

    def _earlier(self, key: bytes) -> Response | None:
        changed = self._changed.get(key)
        stored = self._state.get(key) if changed is None else changed.value
        return None if stored is None else decode(Response, stored)

    def _desk(self, topic: str) -> "_Desk":
        if (found := self._desks.get(topic)) is None:
            found = self._desks[topic] = _desk_of(self._topics.aggregate_of(topic))
        return found


class _Desk(NamedTuple):
    """What the commands of one aggregate are judged by, and how their keys in the state begin."""

    aggregate_type: str
    decider: Aggregate[Any]
    codec: SnapshotCodec[Any]
    snapshots: bytes
    outcomes: bytes


def _desk_of(aggregate_type: str) -> _Desk:
    decider, codec = current().aggregate(aggregate_type), snapshot_codec(aggregate_type)
    outcomes = outcome_key(aggregate_type, "", "").removesuffix(SEPARATOR)
    return _Desk(aggregate_type, decider, codec, snapshot_key(aggregate_type, ""), outcomes)


def outcome_entry(encoded: bytes, limits: Limits) -> Entry:
    """Return a remembered outcome as the state keeps it, `encoded` being its response's bytes."""
    return Entry(encoded, limits.memory_ms + FORGET_AFTER_MS)

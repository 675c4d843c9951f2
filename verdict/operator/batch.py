"""One shard's part of a micro-batch: read, decide one by one in memory, write what changed."""

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any

from verdict.application import current
from verdict.decision.answering import malformed
from verdict.decision.handle import Limits, Verdict, handle
from verdict.decision.received import (
    CommandRecord,
    ReceivedCommand,
    dead_letter,
    receive,
)
from verdict.decision.snapshot import NEVER_EXISTED, Snapshot, snapshot_codec
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

    def _decide(self, record: CommandRecord) -> Iterator[Output]:
        aggregate_type = self._topics.aggregate_of(record.source.topic)
        received = receive(aggregate_type, record)
        if isinstance(received, ReceivedCommand):
            return self._judge(received)
        if isinstance(received, DeadLetter):
            return iter([self._outputs.of_dead_letter(received)])
        key, answer = received.aggregate_id.encode(), encode(malformed(received))
        return self._outputs.of_answer(aggregate_type, key, record, answer, received.reason)

    def _judge(self, command: ReceivedCommand) -> Iterator[Output]:
        aggregate_type, key = command.aggregate_type, command.record.key or b""
        command_id = text_in(command.envelope.command)
        at = snapshot_key(aggregate_type, "") + key
        asked = outcome_key(aggregate_type, "", "")[:-1] + key + SEPARATOR + command_id
        verdict = handle(
            current().aggregate(aggregate_type),
            self._snapshot(aggregate_type, at),
            command,
            self._earlier(asked),
            self._limits,
        )
        self._keep(at, asked, verdict)
        yield from self._outputs.of_verdict(verdict, command)
        if verdict.refused is Reason.HANDLER_ERROR:
            letter = dead_letter(command.record, f"HANDLER_ERROR {verdict.response.message}")
            yield self._outputs.of_failed(letter, command.record.attempt)

    def _keep(self, at: bytes, asked: bytes, verdict: Verdict) -> None:
        if verdict.stored is not None:
            self._snapshots[at] = verdict.snapshot
            self._changed[at] = Entry(verdict.stored)
        if verdict.remembered:
            self._changed[asked] = outcome_entry(verdict.answer, self._limits)

    def _snapshot(self, aggregate_type: str, key: bytes) -> Snapshot[Any]:
        if key not in self._snapshots:
            stored = self._state.get(key)
            codec = snapshot_codec(aggregate_type)
            self._snapshots[key] = NEVER_EXISTED if stored is None else codec.decode(stored)
        return self._snapshots[key]

    def _earlier(self, key: bytes) -> Response | None:
        changed = self._changed.get(key)
        stored = self._state.get(key) if changed is None else changed.value
        return None if stored is None else decode(Response, stored)


def outcome_entry(encoded: bytes, limits: Limits) -> Entry:
    """Return a remembered outcome as the state keeps it, `encoded` being its response's bytes."""
    return Entry(encoded, limits.memory_ms + FORGET_AFTER_MS)

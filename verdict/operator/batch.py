"""One shard's part of a micro-batch: read, decide one by one in memory, write what changed."""

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any

from verdict.application import current
from verdict.decision.answering import malformed
from verdict.decision.handle import Limits, Verdict, handle
from verdict.decision.received import (
    CommandRecord,
    MalformedCommand,
    ReceivedCommand,
    dead_letter,
    receive,
)
from verdict.decision.snapshot import NEVER_EXISTED, Snapshot, snapshot_codec
from verdict.model.reason import Reason
from verdict.operator.output import Output, Outputs
from verdict.operator.shard_state import Entry, ShardState, outcome_key, snapshot_key
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
        received = receive(self._topics.aggregate_of(record.source.topic), record)
        if isinstance(received, DeadLetter):
            yield self._outputs.of_dead_letter(received)
        elif isinstance(received, MalformedCommand):
            response = malformed(received)
            yield from self._outputs.of_response(response, encode(response), record)
        else:
            yield from self._judge(received)

    def _judge(self, command: ReceivedCommand) -> Iterator[Output]:
        aggregate_type, aggregate_id = command.aggregate_type, command.envelope.aggregate_id
        at = snapshot_key(aggregate_type, aggregate_id)
        asked = outcome_key(aggregate_type, aggregate_id, command.envelope.command_id)
        verdict = handle(
            current().aggregate(aggregate_type),
            self._snapshot(aggregate_type, at),
            command,
            self._earlier(asked),
            self._limits,
        )
        response = encode(verdict.response)
        self._keep(at, asked, verdict, response)
        yield from self._outputs.of_verdict(verdict, response, command)
        if verdict.response.reason == Reason.HANDLER_ERROR:
            letter = dead_letter(command.record, f"HANDLER_ERROR {verdict.response.message}")
            yield self._outputs.of_failed(letter, command.record.attempt)

    def _keep(self, at: bytes, asked: bytes, verdict: Verdict, response: bytes) -> None:
        if verdict.stored is not None:
            self._snapshots[at] = verdict.snapshot
            self._changed[at] = Entry(verdict.stored)
        if verdict.remembered:
            self._changed[asked] = outcome_entry(response, self._limits)

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

"""One shard's part of a micro-batch: read, decide one by one in memory, write what changed."""

from collections.abc import Iterable, Iterator
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

from verdict.model.reason import Reason
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.wire.avro.writer import text_in
from verdict.wire.catalog import AggregateContext, catalog_of
from verdict.wire.command_record import CommandRecord, dead_letter
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.records import decode, encode
from verdict.wire.response import Response
from verdict.wire.topics import Topics
from verdict.write_side.decide.command_checks import DecidedCommand, Limits, handle
from verdict.write_side.decide.parse import ReceivedCommand, parse_command
from verdict.write_side.decide.snapshot import NEVER_EXISTED, Snapshot, decode_snapshot
from verdict.write_side.processor.outputs import OutputBatch
from verdict.write_side.state.shard_state import (
    SEPARATOR,
    ShardStore,
    StateEntry,
    outcome_key,
    snapshot_key,
)

# So many records go through a step together before the next step: its code and data then stay in
# the CPU's cache. One by one, the same work takes a third longer; more would be no faster, and the
# events of all of them are in memory at once.
PIPELINE_WIDTH = 64

# Beyond what is promised: it is room for two leaps of the clock, see `LONGEST_STEP_MS`.
FORGET_AFTER_MS = 24 * 60 * 60 * 1000


class ShardBatch:
    """Decides the commands of one shard in one micro-batch; nothing is written before `commit`.

    The same records on the same state give the same outputs, in whatever order they come.
    """

    def __init__(self, topics: Topics, limits: Limits, state: ShardStore) -> None:
        self._topics = topics
        self._catalog = catalog_of(topics.application)
        self._limits = limits
        self._outputs = OutputBatch(topics)
        self._state = state
        self._changed: dict[bytes, StateEntry] = {}
        self._snapshots: dict[bytes, Snapshot[Any]] = {}
        self._contexts: dict[str, _ShardContext] = {}

    def decide(self, records: Iterable[CommandRecord]) -> Iterator[OutputRecord]:
        """Give each record its one outcome, in the order of (topic, partition, offset)."""
        waiting = iter(sorted(records, key=attrgetter("place")))
        while some := [*islice(waiting, PIPELINE_WIDTH)]:
            yield from self._decide(some)

    def commit(self, now: int = 0) -> None:
        """Write what changed into the shard's state; all outputs have been taken."""
        self._state.commit(self._changed, now)

    def _decide(self, records: list[CommandRecord]) -> Iterator[OutputRecord]:
        """Take some records through one step after the other, see `PIPELINE_WIDTH`."""
        received = [parse_command(self._of(one.source.topic).context, one) for one in records]
        pending = [self._pending(one) for one in received if isinstance(one, ReceivedCommand)]
        decided = iter([self._decide_one(one) for one in pending])
        for record, one in zip(records, received, strict=True):
            if isinstance(one, ReceivedCommand):
                yield from self._published(next(decided), one)
            else:
                yield from self._unreadable(record, one)

    def _pending(self, command: ReceivedCommand) -> "_PendingCommand":
        """Look up what the state knows of a command."""
        of, key = self._of(command.record.source.topic), command.record.key or b""
        snapshot_at = of.snapshots + key
        outcome_at = of.outcomes + key + SEPARATOR + text_in(command.envelope.command)
        if snapshot_at not in self._snapshots:
            stored = self._state.get(snapshot_at)
            self._snapshots[snapshot_at] = (
                NEVER_EXISTED if stored is None else decode_snapshot(of.context, stored)
            )
        outcome = self._state.get(outcome_at)
        return _PendingCommand(command, of.context, snapshot_at, outcome_at, outcome)

    def _decide_one(self, pending: "_PendingCommand") -> DecidedCommand:
        command, context, snapshot_at, outcome_at, outcome = pending
        changed = self._changed.get(outcome_at)
        stored = outcome if changed is None else changed.value
        earlier = None if stored is None else decode(Response, stored)
        decided = handle(context, self._snapshots[snapshot_at], command, earlier, self._limits)
        if decided.stored is not None:
            self._snapshots[snapshot_at] = decided.snapshot
            self._changed[snapshot_at] = StateEntry(decided.stored)
        if decided.remembered:
            self._changed[outcome_at] = outcome_entry(decided.answer, self._limits)
        return decided

    def _published(self, decided: DecidedCommand, command: ReceivedCommand) -> list[OutputRecord]:
        outputs = self._outputs.of_verdict(decided, command)
        if decided.refused is Reason.HANDLER_ERROR:
            letter = dead_letter(command.record, f"HANDLER_ERROR {decided.response.message}")
            outputs.append(self._outputs.of_dead_letter(letter, command.record.attempt))
        return outputs

    def _unreadable(
        self, record: CommandRecord, found: Response | DeadLetter
    ) -> list[OutputRecord]:
        if isinstance(found, DeadLetter):
            return [self._outputs.of_dead_letter(found)]
        key, of = found.aggregate_id.encode(), found.aggregate_type
        return self._outputs.of_answer(of, key, record, encode(found), found.reason)

    def _of(self, topic: str) -> "_ShardContext":
        if (found := self._contexts.get(topic)) is None:
            context = self._catalog[self._topics.aggregate_of(topic)]
            outcomes = outcome_key(context.name, "", "").removesuffix(SEPARATOR)
            found = _ShardContext(context, snapshot_key(context.name, ""), outcomes)
            self._contexts[topic] = found
        return found


class _ShardContext(NamedTuple):
    """The context of an aggregate, and how its keys in the state begin."""

    context: AggregateContext
    snapshots: bytes
    outcomes: bytes


class _PendingCommand(NamedTuple):
    """A command with the keys of its snapshot and outcome, and the outcome before the batch."""

    command: ReceivedCommand
    context: AggregateContext
    snapshot_at: bytes
    outcome_at: bytes
    outcome: bytes | None


def outcome_entry(encoded: bytes, limits: Limits) -> StateEntry:
    """Return a remembered outcome as the state keeps it, `encoded` being its response's bytes."""
    return StateEntry(encoded, limits.memory_ms + FORGET_AFTER_MS)

"""One shard's part of a micro-batch: read, decide one by one in memory, write what changed."""

from collections.abc import Iterable, Iterator
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

from verdict.model.reason import Reason
from verdict.wire.avro.writer import text_in
from verdict.wire.catalog import AggregateContext, catalog_of
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.records import decode, encode
from verdict.wire.response import Response
from verdict.wire.topics import Topics
from verdict.write_side.decide.handle import DecidedCommand, Limits, handle
from verdict.write_side.decide.parse import (
    CommandRecord,
    MalformedCommand,
    ReceivedCommand,
    dead_letter,
    parse_command,
)
from verdict.write_side.decide.respond import invalid_response
from verdict.write_side.decide.snapshot import NEVER_EXISTED, Snapshot, decode_snapshot
from verdict.write_side.processor.outputs import Output, OutputBatch
from verdict.write_side.state.shard_state import (
    SEPARATOR,
    ShardStore,
    StateEntry,
    outcome_key,
    snapshot_key,
)

# So many records go through a step together, before any goes on to the next: one step's code and
# data then stay in the processor's cache. One by one, the same work takes a third longer; more
# would be no faster, and all that the events of so many may weigh is in memory at once.
PIPELINE_WIDTH = 64

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

    def __init__(self, topics: Topics, limits: Limits, state: ShardStore) -> None:
        self._topics = topics
        self._catalog = catalog_of(topics.application)
        self._limits = limits
        self._outputs = OutputBatch(topics)
        self._state = state
        self._changed: dict[bytes, StateEntry] = {}
        self._snapshots: dict[bytes, Snapshot[Any]] = {}
        self._desks: dict[str, _ShardContext] = {}

    def decide(self, records: Iterable[CommandRecord]) -> Iterator[Output]:
        """Give every record its one outcome, in the order of (topic, partition, offset).

        All records are taken before the first is decided; outputs come one by one, so that a
        batch need not hold them all.
        """
        waiting = iter(sorted(records, key=attrgetter("place")))
        while some := [*islice(waiting, PIPELINE_WIDTH)]:
            yield from self._decide(some)

    def commit(self, now: int = 0) -> None:
        """Write what changed into the shard's state; all outputs have been taken."""
        self._state.commit(self._changed, now)

    def _decide(self, records: list[CommandRecord]) -> Iterator[Output]:
        """Take some records abreast through one step after the other, see `PIPELINE_WIDTH`."""
        received = [parse_command(self._desk(each.source.topic).context, each) for each in records]
        cases = [self._case(each) for each in received if isinstance(each, ReceivedCommand)]
        verdicts = iter([self._judge(case) for case in cases])
        for record, each in zip(records, received, strict=True):
            if isinstance(each, ReceivedCommand):
                yield from self._published(next(verdicts), each)
            else:
                yield from self._unreadable(record, each)

    def _case(self, command: ReceivedCommand) -> "_PendingCommand":
        """Put what the state knows beside a command."""
        desk, key = self._desk(command.record.source.topic), command.record.key or b""
        at = desk.snapshots + key
        asked = desk.outcomes + key + SEPARATOR + text_in(command.envelope.command)
        if at not in self._snapshots:
            stored = self._state.get(at)
            self._snapshots[at] = (
                NEVER_EXISTED if stored is None else decode_snapshot(desk.context, stored)
            )
        return _PendingCommand(command, desk.context, at, asked, self._state.get(asked))

    def _judge(self, case: "_PendingCommand") -> DecidedCommand:
        command, context, at, asked, remembered = case
        changed = self._changed.get(asked)
        stored = remembered if changed is None else changed.value
        earlier = None if stored is None else decode(Response, stored)
        verdict = handle(context, self._snapshots[at], command, earlier, self._limits)
        if verdict.stored is not None:
            self._snapshots[at] = verdict.snapshot
            self._changed[at] = StateEntry(verdict.stored)
        if verdict.remembered:
            self._changed[asked] = outcome_entry(verdict.answer, self._limits)
        return verdict

    def _published(self, verdict: DecidedCommand, command: ReceivedCommand) -> list[Output]:
        outputs = self._outputs.of_verdict(verdict, command)
        if verdict.refused is Reason.HANDLER_ERROR:
            letter = dead_letter(command.record, f"HANDLER_ERROR {verdict.response.message}")
            outputs.append(self._outputs.of_failed(letter, command.record.attempt))
        return outputs

    def _unreadable(
        self, record: CommandRecord, found: MalformedCommand | DeadLetter
    ) -> list[Output]:
        if isinstance(found, DeadLetter):
            return [self._outputs.of_dead_letter(found)]
        context = self._desk(record.source.topic).context
        key, answer = found.aggregate_id.encode(), encode(invalid_response(context, found))
        return self._outputs.of_answer(found.aggregate_type, key, record, answer, found.reason)

    def _desk(self, topic: str) -> "_ShardContext":
        if (found := self._desks.get(topic)) is None:
            found = self._desks[topic] = _desk_of(self._catalog[self._topics.aggregate_of(topic)])
        return found


class _ShardContext(NamedTuple):
    """What the commands of one aggregate are judged by, and how their keys in the state begin."""

    context: AggregateContext
    snapshots: bytes
    outcomes: bytes


class _PendingCommand(NamedTuple):
    """A command, who judges it, and where in the state its aggregate and its outcome are.

    `remembered` is what the state knew of that outcome before the batch.
    """

    command: ReceivedCommand
    context: AggregateContext
    at: bytes
    asked: bytes
    remembered: bytes | None


def _desk_of(context: AggregateContext) -> _ShardContext:
    outcomes = outcome_key(context.name, "", "").removesuffix(SEPARATOR)
    return _ShardContext(context, snapshot_key(context.name, ""), outcomes)


def outcome_entry(encoded: bytes, limits: Limits) -> StateEntry:
    """Return a remembered outcome as the state keeps it, `encoded` being its response's bytes."""
    return StateEntry(encoded, limits.memory_ms + FORGET_AFTER_MS)

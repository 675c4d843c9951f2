"""The decider's state, as its local copies have it, against a fold of the events.

A copy lacks what the last batch of its shard changed: that comes with the next batch. The
progress record tells which copies are complete already.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verdict.adapters.kafka.offsets import TopicOffsets
from verdict.model.aggregate import Aggregate
from verdict.model.source import Source
from verdict.operations.audit.finding import Check, CheckResult, Finding
from verdict.streaming.event_log.record import PositionedEvent
from verdict.streaming.exactly_once.state_moves import Stamp
from verdict.wire.catalog import AggregateContext
from verdict.wire.stored_event import InvalidHistoryError
from verdict.write_side.decide.fold import fold_event
from verdict.write_side.decide.snapshot import (
    NEVER_EXISTED,
    Snapshot,
    decode_snapshot,
    encode_snapshot,
)
from verdict.write_side.state.entries import key_hash, value_of
from verdict.write_side.state.lmdb_cache import LmdbCache, boot_id
from verdict.write_side.state.shard_state import snapshot_key

Stamps = frozenset[Stamp]


@dataclass(frozen=True, slots=True)
class StateCopies:
    """The local copies of a host's shards; `complete`: each is at the head of its log."""

    copies: tuple[tuple[LmdbCache, bool], ...]
    complete: bool

    def stored(self, aggregate_type: str, name: str) -> Iterator[tuple[bytes, bool]]:
        """Yield what is stored of an aggregate, and whether that copy is at the head."""
        key = key_hash(snapshot_key(aggregate_type, name))
        for copy, at_head in self.copies:
            if (found := copy.get(key)) is not None:
                yield value_of(found), at_head

    def close(self) -> None:
        """Stop reading."""
        for copy, _ in self.copies:
            copy.end()


def copies_in(folder: Path, heads: Stamps) -> StateCopies:
    """Begin to read the copies below a folder that hold anything."""
    found, stamps = [], set[Stamp]()
    for shard in sorted((folder / boot_id()).glob("*")):
        copy = LmdbCache(folder, int(shard.name))
        stamp = copy.begin()
        if stamp is not None:
            found.append((copy, stamp in heads))
            stamps.add(stamp)
    return StateCopies(tuple(found), bool(heads) and heads <= stamps)


@dataclass(slots=True)
class StateAudit:
    """Compares what is stored of each aggregate with the fold of its events.

    A copy at the head has the events of commands before `decided`. `unseen` counts aggregates that
    no copy here has, though another one may.
    """

    copies: StateCopies
    decided: TopicOffsets
    looked: CheckResult
    unseen: int = 0

    def findings(
        self, context: AggregateContext, name: str, history: Iterable[PositionedEvent]
    ) -> Iterator[Finding]:
        """Yield where the two differ; a damaged history is left to the audit of the log."""
        aggregate_type = context.name
        stored = [*self.copies.stored(aggregate_type, name)]
        kept: list[tuple[Snapshot[Any], bytes, bool]] = []
        for value, at_head in stored:
            try:
                kept.append((decode_snapshot(context, value), value, at_head))
            except (ValueError, LookupError, EOFError) as error:
                yield _finding(aggregate_type, name, None, f"what is stored is damaged: {error}")
        folded: dict[int, bytes] = {}
        last = settled = 0
        try:
            for snapshot, source in _snapshots(context.aggregate, history):
                last = snapshot.version
                if self._is_settled(source):
                    settled = last
                if any(last == one.version for one, *_ in kept):
                    folded[last] = encode_snapshot(context, snapshot)
        except InvalidHistoryError:
            return
        self.looked.at["states"] += bool(kept)
        yield from self._compared(aggregate_type, name, kept, folded, settled)
        if not stored and settled and self.copies.complete:
            yield _finding(aggregate_type, name, settled, "nothing is stored of it")
        self.unseen += settled > 0 and not (stored or self.copies.complete)

    def _compared(
        self,
        aggregate_type: str,
        name: str,
        kept: list[tuple[Snapshot[Any], bytes, bool]],
        folded: dict[int, bytes],
        settled: int,
    ) -> Iterator[Finding]:
        for snapshot, value, at_head in kept:
            version = snapshot.version
            if version not in folded:
                what = "this version is stored, and there is no such event"
                yield _finding(aggregate_type, name, version, what)
            elif folded[version] != value:
                what = "what is stored is not the fold of the events up to this version"
                yield _finding(aggregate_type, name, version, what)
            elif at_head and version < settled:
                what = f"this version is stored, and events go on to version {settled}"
                yield _finding(aggregate_type, name, version, what)
            elif version < settled:
                self.looked.at["states behind"] += 1

    def _is_settled(self, source: Source) -> bool:
        ends = self.decided.get(source.topic, ())
        return source.partition < len(ends) and source.offset < ends[source.partition]


def _snapshots(
    rules: Aggregate[Any], history: Iterable[PositionedEvent]
) -> Iterator[tuple[Snapshot[Any], Source]]:
    """Yield the snapshot after each event, and the event's command."""
    snapshot: Snapshot[Any] = NEVER_EXISTED
    for placed in history:
        if isinstance(placed.content, str) or placed.version > snapshot.version:
            snapshot = fold_event(rules, snapshot, placed.stored)
            yield snapshot, placed.stored.event.source


def _finding(aggregate_type: str, name: str, version: int | None, what: str) -> Finding:
    return Finding(Check.STATE, what, aggregate_type, name, version)

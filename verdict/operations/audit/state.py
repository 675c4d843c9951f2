"""The decider's state, as its local copies have it, against a fold of the events.

A copy lacks what the last batch of its shard changed: that comes with the next batch. The
progress record tells which copies are complete already.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
LocalCopies = Sequence[tuple[LmdbCache, bool]]
StoredVersion = tuple[int, bytes, bool]
"""A stored version, its bytes, and whether the copy is at the head of its log."""


def copies_in(folder: Path, heads: Stamps) -> tuple[LocalCopies, bool]:
    """Begin to read the copies below a folder that hold anything.

    Return each with whether it is at the head of its log, and whether all heads are here.
    """
    found, stamps = [], set[Stamp]()
    for shard in sorted((folder / boot_id()).glob("*")):
        copy = LmdbCache(folder, int(shard.name))
        stamp = copy.begin()
        if stamp is not None:
            found.append((copy, stamp in heads))
            stamps.add(stamp)
    return found, bool(heads) and heads <= stamps


@dataclass(slots=True)
class StateAudit:
    """Compares what is stored of each aggregate with the fold of its events.

    A copy at the head has the events of commands before `decided`; `complete`: all heads are here.
    `unseen` counts aggregates that no copy here has, though another one may.
    """

    copies: LocalCopies
    complete: bool
    decided: TopicOffsets
    looked: CheckResult
    unseen: int = 0

    def close(self) -> None:
        """Stop reading the copies."""
        for copy, _ in self.copies:
            copy.end()

    def findings(
        self, context: AggregateContext, name: str, history: Iterable[PositionedEvent]
    ) -> Iterator[Finding]:
        """Yield where the two differ; a damaged history is left to the audit of the log."""
        aggregate_type = context.name
        key = key_hash(snapshot_key(aggregate_type, name))
        found = ((copy.get(key), at_head) for copy, at_head in self.copies)
        stored = [(value_of(value), at_head) for value, at_head in found if value is not None]
        kept: list[StoredVersion] = []
        for value, at_head in stored:
            try:
                kept.append((decode_snapshot(context, value).version, value, at_head))
            except (ValueError, LookupError, EOFError) as error:
                yield _finding(aggregate_type, name, None, f"what is stored is damaged: {error}")
        folded: dict[int, bytes] = {}
        settled = 0
        try:
            for snapshot, source in _snapshots(context.aggregate, history):
                if self._is_settled(source):
                    settled = snapshot.version
                if any(snapshot.version == version for version, *_ in kept):
                    folded[snapshot.version] = encode_snapshot(context, snapshot)
        except InvalidHistoryError:
            return
        self.looked.at["states"] += bool(kept)
        for one in kept:
            if what := self._fault(one, folded, settled):
                yield _finding(aggregate_type, name, one[0], what)
        if not stored and settled and self.complete:
            yield _finding(aggregate_type, name, settled, "nothing is stored of it")
        self.unseen += settled > 0 and not (stored or self.complete)

    def _fault(self, kept: StoredVersion, folded: Mapping[int, bytes], settled: int) -> str | None:
        """Return what is wrong with a stored version, of which `folded` has the right bytes."""
        version, value, at_head = kept
        if version not in folded:
            return "this version is stored, and there is no such event"
        if folded[version] != value:
            return "what is stored is not the fold of the events up to this version"
        if at_head and version < settled:
            return f"this version is stored, and events go on to version {settled}"
        self.looked.at["states behind"] += version < settled
        return None

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

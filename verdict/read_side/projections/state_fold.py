"""States of a compacted topic onto rows, in memory; pure.

Each record is all that is known of its key, and its offset + 1 is the version of the row. There is
no gap to be seen: what compaction removes was replaced. So a record at fault matters until the next
one of its key comes, and no other key waits for it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic

from verdict.model.rows import Evolve
from verdict.read_side.apply.batch import Delivery, StateChange, UnreadableRecord
from verdict.read_side.projections.fold import FoldedRow, Group, Key, Row, RowChange
from verdict.read_side.projections.projection import Applied, CannotApplyError, Gap
from verdict.wire.error_text import error_text


@dataclass(slots=True)
class StateFold(Generic[Row]):
    """What records do to the rows of their keys.

    Args:
        evolve: (None, state) → row. The row before is not given: when compaction has removed the
            state that made it, a version that is built then would not be the same.
        group: The group that a row belongs to, None for none.
    """

    evolve: Evolve[Row]
    group: Group[Row]
    changes: dict[Key, RowChange[Row]] = field(default_factory=dict)
    _applied: int = 0
    _skipped: int = 0
    _gaps: dict[Key, Gap] = field(default_factory=dict)
    _reached: dict[Key, int] = field(default_factory=dict)

    def run(self, kept: Mapping[Key, FoldedRow[Row]], deliveries: Iterable[Delivery]) -> Applied:
        """Put each key's newest state in the place of what is kept of it.

        A key whose newest record is at fault stays as the record before left it, with a gap that
        says why; a record behind it closes the gap.
        """
        for delivery in deliveries:
            self._take(kept, delivery)
        return Applied(self._applied, self._skipped, [*self._gaps.values()], self._reached)

    def _take(self, kept: Mapping[Key, FoldedRow[Row]], delivery: Delivery) -> None:
        key, version = key_of(delivery), delivery.offset + 1
        change = self.changes.get(key) or RowChange(kept.get(key, FoldedRow()))
        if version <= change.after.version:
            self._skipped += 1
            return
        after = self._read(delivery)
        if isinstance(after, CannotApplyError):
            self._gaps[key] = Gap(*key, version, version, after)
            self._reached.pop(key, None)
            return
        self._gaps.pop(key, None)
        self._reached[key] = version
        if after.row is None and change.after.row is None:
            self._skipped += 1
            return
        change.after = after
        self.changes[key] = change
        self._applied += 1

    def _read(self, delivery: Delivery) -> FoldedRow[Row] | CannotApplyError:
        """Return what is kept of the key from this record on, or why that cannot be told."""
        state, version = carried(delivery).value, delivery.offset + 1
        if state is None:
            return FoldedRow(version)
        if isinstance(state, UnreadableRecord):
            return _fault(delivery, f"not readable: {state.error}")
        try:
            row = self.evolve(None, state)
            return FoldedRow(version, row, None if row is None else self.group(row))
        except Exception as error:
            fault = _fault(delivery, error_text(error))
            fault.__cause__ = error
            return fault


def carried(delivery: Delivery) -> StateChange:
    """Return the record of a delivery from a topic that carries states."""
    assert isinstance(delivery.record, StateChange), (
        "a projection of a state topic follows nothing else"
    )
    return delivery.record


def key_of(delivery: Delivery) -> Key:
    """Return whose state a delivery carries."""
    return delivery.topic, carried(delivery).key


def _fault(delivery: Delivery, problem: str) -> CannotApplyError:
    key = carried(delivery).key
    return CannotApplyError(
        delivery, f"state of {key!r}: {problem}; the next record of that key takes its place"
    )

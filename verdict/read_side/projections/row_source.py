"""What the rows of a projection follow from: events of aggregates, or the states of a topic."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic

from verdict.model.recorded_event import RecordedEvent
from verdict.model.rows import Evolve
from verdict.read_side.apply.batch import Delivery, StateChange, UnreadableRecord
from verdict.read_side.projections.projection import Applied, CannotApplyError, Gap
from verdict.read_side.projections.row_fold import (
    FoldedRow,
    Group,
    Key,
    Remains,
    Row,
    RowChange,
    RowFold,
)
from verdict.wire.error_text import error_text
from verdict.wire.topics import Topics


@dataclass(slots=True)
class StateFold(Generic[Row]):
    """Puts states of a compacted topic onto rows, in memory; pure.

    Each record is all that is known of its key, and its offset + 1 is the version of the row. There
    are no gaps, as compaction removes only what was replaced.
    """

    evolve: Evolve[Row]
    group: Group[Row]
    changes: dict[Key, RowChange[Row]] = field(default_factory=dict)
    _applied: int = 0
    _skipped: int = 0
    _gaps: dict[Key, Gap] = field(default_factory=dict)
    _reached: dict[Key, int] = field(default_factory=dict)

    def run(self, kept: Mapping[Key, FoldedRow[Row]], deliveries: Iterable[Delivery]) -> Applied:
        """Replace what is kept of each key by its newest state.

        A key whose newest record is faulty stays as the record before left it, with a gap that
        says why; the next good record closes the gap.
        """
        for delivery in deliveries:
            self._take(kept, delivery)
        return Applied(self._applied, self._skipped, [*self._gaps.values()], self._reached)

    def _take(self, kept: Mapping[Key, FoldedRow[Row]], delivery: Delivery) -> None:
        state = _change_of(delivery)
        key, version = (delivery.topic, state.key), delivery.offset + 1
        change = self.changes.get(key) or RowChange(kept.get(key, FoldedRow()))
        if version <= change.after.version:
            self._skipped += 1
            return
        after = self._read(delivery, state)
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

    def _read(self, delivery: Delivery, state: StateChange) -> FoldedRow[Row] | CannotApplyError:
        value, version = state.value, delivery.offset + 1
        cause: Exception | None = None
        if value is None:
            return FoldedRow(version)
        if isinstance(value, UnreadableRecord):
            problem = f"not readable: {value.error}"
        else:
            try:
                row = self.evolve(None, value)
                return FoldedRow(version, row, None if row is None else self.group(row))
            except Exception as error:
                problem, cause = error_text(error), error
        then = "the next record of that key takes its place"
        fault = CannotApplyError(delivery, f"state of {state.key!r}: {problem}; {then}")
        fault.__cause__ = cause
        return fault


@dataclass(frozen=True)
class EventSource:
    """The events of aggregates, each the next version of its row; its version outlives the row."""

    types: tuple[str, ...]

    waits_for_events: ClassVar[bool] = True

    def fold(
        self, evolve: Evolve[Row], group: Group[Row], remains: Remains[Row] | None
    ) -> RowFold[Row]:
        return RowFold(evolve, group, remains)

    def key(self, delivery: Delivery) -> Key:
        event = delivery.record
        assert isinstance(event, RecordedEvent), "rows are folded from events only"
        return event.aggregate_type, event.aggregate_id

    def topics(self, topics: Topics) -> Sequence[str]:
        return [topics.events(aggregate_type) for aggregate_type in self.types]

    def keeps(self, kept: FoldedRow[Any]) -> bool:
        """Return whether the table has a row of an aggregate of which this is kept."""
        return kept.version > 0


@dataclass(frozen=True)
class StateSource:
    """The states of a compacted topic, each instead of its row; a removed row leaves nothing.

    So a table that is built after compaction is the same.
    """

    topic: str

    types: ClassVar[tuple[str, ...]] = ()
    waits_for_events: ClassVar[bool] = False

    def fold(
        self, evolve: Evolve[Row], group: Group[Row], remains: Remains[Row] | None
    ) -> StateFold[Row]:
        return StateFold(evolve, group)

    def key(self, delivery: Delivery) -> Key:
        return delivery.topic, _change_of(delivery).key

    def topics(self, topics: Topics) -> Sequence[str]:
        return (topics.named(self.topic),)

    def keeps(self, kept: FoldedRow[Any]) -> bool:
        return kept.row is not None


def _change_of(delivery: Delivery) -> StateChange:
    assert isinstance(delivery.record, StateChange), "rows of states follow nothing else"
    return delivery.record

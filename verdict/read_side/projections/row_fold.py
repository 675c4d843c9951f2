"""Events onto rows, in memory: what is skipped, applied, or waits for a missing event; pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.apply.batch import Delivery, SkippedEvent
from verdict.read_side.projections.projection import Applied, CannotApplyError, Gap
from verdict.wire.error_text import error_text

Row = TypeVar("Row", bound=tuple[Any, ...])

Evolve = Callable[[Row | None, RecordedEvent], Row | None]
Group = Callable[[Row], str | None]
Remains = Callable[[Row, RecordedEvent], Row]

Key = tuple[str, str]
"""Of an aggregate: type and id; of a carried state: topic and key."""


class FoldedRow(NamedTuple, Generic[Row]):
    """What is kept of an aggregate: its version, its row if it has one, and that row's group."""

    version: int = 0
    row: Row | None = None
    group: str | None = None


NOTHING: FoldedRow[Any] = FoldedRow()

new = tuple.__new__  # of a named tuple, whose own takes longer than all else here


class RowChange(Generic[Row]):
    """An aggregate that a batch touches: before the batch, and after the events so far.

    By `departure` it left the group that it was in, by `arrival` it came to the group that it is
    in, if these differ. `remains` is what it left behind in groups, with the versions of leaving.
    """

    __slots__ = ("after", "arrival", "before", "departure", "remains")

    def __init__(self, before: FoldedRow[Row]) -> None:
        self.before = self.after = before
        self.departure: RecordedEvent | None = None
        self.arrival: RecordedEvent | None = None
        self.remains: Sequence[FoldedRow[Row]] = ()

    def move(self, event: RecordedEvent, left: Sequence[FoldedRow[Row]]) -> None:
        """Note that the aggregate goes to another group by `event`, and what it leaves behind."""
        if self.after.group == self.before.group:
            self.departure = event
        self.arrival = event
        self.remains = (*self.remains, *left)


@dataclass(slots=True)
class RowFold(Generic[Row]):
    """What a batch does to the rows of aggregates."""

    evolve: Evolve[Row]
    group: Group[Row]
    remains: Remains[Row] | None = None
    changes: dict[Key, RowChange[Row]] = field(default_factory=dict)
    _applied: int = 0
    _skipped: int = 0
    _early: dict[Key, dict[int, Delivery]] = field(default_factory=dict)
    _faults: dict[Key, CannotApplyError] = field(default_factory=dict)

    def run(self, kept: Mapping[Key, FoldedRow[Row]], deliveries: Iterable[Delivery]) -> Applied:
        """Apply each event that is the next one of its aggregate.

        An aggregate at one of whose events `evolve` or `group` raises stays as it was before that
        event, and so do its later events; the other aggregates go on.
        """
        changes, early = self.changes, self._early
        for delivery in deliveries:
            event = delivery.record
            assert isinstance(event, RecordedEvent)
            key = event.aggregate_type, event.aggregate_id
            change = changes.get(key)
            if change is None:
                change = changes[key] = RowChange(kept.get(key, NOTHING))
            if event.version != change.after.version + 1 or (early and key in early):
                self._place(key, change, event, delivery)
            elif not self._apply(key, change, event, delivery):
                early[key] = {event.version: delivery}
        return self._report()

    def _place(
        self, key: Key, change: RowChange[Row], event: RecordedEvent, delivery: Delivery
    ) -> None:
        early = self._early.get(key, {})
        if event.version <= change.after.version or event.version in early:
            self._skipped += 1
        elif event.version > change.after.version + 1:
            self._early.setdefault(key, {})[event.version] = delivery
        elif self._apply(key, change, event, delivery):
            self._apply_early(key, change, early)
        else:
            self._early.setdefault(key, {})[event.version] = delivery

    def _apply_early(self, key: Key, change: RowChange[Row], early: dict[int, Delivery]) -> None:
        while following := early.get(change.after.version + 1):
            assert isinstance(following.record, RecordedEvent)
            if not self._apply(key, change, following.record, following):
                break
            del early[change.after.version]

    def _apply(
        self, key: Key, change: RowChange[Row], event: RecordedEvent, delivery: Delivery
    ) -> bool:
        _, row, group = before = change.after
        kind = event.payload.__class__
        try:
            if kind is not SkippedEvent:
                row = self.evolve(row, event)
                group = None if row is None else self.group(row)
            left = self._left(before, event) if group != before.group else ()
        except Exception as error:
            fault = self._faults[key] = CannotApplyError(
                delivery,
                f"{kind.__name__}, version {event.version} of {event.aggregate_type} "
                f"{event.aggregate_id!r}: {error_text(error)}",
            )
            fault.__cause__ = error
            return False
        if group != before.group:
            change.move(event, left)
        change.after = new(FoldedRow, (event.version, row, group))
        self._applied += 1
        return True

    def _left(self, before: FoldedRow[Row], event: RecordedEvent) -> Sequence[FoldedRow[Row]]:
        if self.remains is None or before.row is None or before.group is None:
            return ()
        return [FoldedRow(event.version, self.remains(before.row, event), before.group)]

    def _report(self) -> Applied:
        reached = {key: change.after.version for key, change in self.changes.items()}
        gaps = [
            Gap(*key, reached[key] + 1, max(early), self._faults.get(key))
            for key, early in self._early.items()
            if early
        ]
        return Applied(self._applied, self._skipped, gaps, reached)

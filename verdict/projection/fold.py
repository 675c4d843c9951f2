"""Events onto rows, in memory: what is skipped, applied, or waits for a missing event; pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from verdict.model.recorded_event import RecordedEvent
from verdict.projection.amended import PassedOver
from verdict.projection.batch import Delivery
from verdict.projection.projection import Applied, Gap, Unprojectable

Row = TypeVar("Row", bound=tuple[Any, ...])

Evolve = Callable[[Row | None, RecordedEvent], Row | None]
Group = Callable[[Row], str | None]


@dataclass(frozen=True, slots=True)
class Kept(Generic[Row]):
    """What is kept of an aggregate: its version, its row if it has one, and that row's group."""

    version: int = 0
    row: Row | None = None
    group: str | None = None


class Change(Generic[Row]):
    """An aggregate that a batch touches: as it was kept, and as it is after the events so far.

    `departure` is the event by which it left the group it was kept in, `arrival` the one by which
    it came to the group it is in; they mean something only when those groups differ.
    """

    __slots__ = ("after", "arrival", "before", "departure")

    def __init__(self, before: Kept[Row]) -> None:
        self.before = self.after = before
        self.departure: RecordedEvent | None = None
        self.arrival: RecordedEvent | None = None

    def advance(self, event: RecordedEvent, row: Row | None, group: str | None) -> None:
        """Take over what `event` made of the aggregate."""
        if group != self.after.group:
            if self.after.group == self.before.group:
                self.departure = event
            self.arrival = event
        self.after = Kept(event.version, row, group)


@dataclass(slots=True)
class Fold(Generic[Row]):
    """What a batch does to the rows of one aggregate type.

    Args:
        aggregate_type: Whose events these are.
        evolve: Row and event to row; None is no row.
        group: The group that a row belongs to, None for none.
    """

    aggregate_type: str
    evolve: Evolve[Row]
    group: Group[Row]
    changes: dict[str, Change[Row]] = field(default_factory=dict)
    _applied: int = 0
    _skipped: int = 0
    _early: dict[str, dict[int, Delivery]] = field(default_factory=dict)
    _faults: dict[str, Unprojectable] = field(default_factory=dict)

    def run(self, kept: Mapping[str, Kept[Row]], deliveries: Iterable[Delivery]) -> Applied:
        """Apply each event that is the next one of its aggregate.

        An aggregate at one of whose events `evolve` or `group` raises stays as it was before that
        event, and so do its later events; the other aggregates go on.

        Args:
            kept: By aggregate id, what is stored; an aggregate that is missing has version 0.
            deliveries: Events. One that lies before those that it follows waits for them, as long
                as they are in here too.

        Returns:
            What became of the events; `changes` has the touched aggregates.
        """
        for delivery in deliveries:
            event = delivery.record
            assert isinstance(event, RecordedEvent)
            change = self.changes.get(event.aggregate_id)
            if change is None:
                change = Change(kept.get(event.aggregate_id, Kept()))
                self.changes[event.aggregate_id] = change
            self._place(change, event, delivery)
        return self._report()

    def _place(self, change: Change[Row], event: RecordedEvent, delivery: Delivery) -> None:
        early = self._early.get(event.aggregate_id, {})
        if event.version <= change.after.version or event.version in early:
            self._skipped += 1
        elif event.version > change.after.version + 1:
            self._early.setdefault(event.aggregate_id, {})[event.version] = delivery
        elif self._apply(change, event, delivery):
            self._apply_early(change, early)
        else:
            self._early.setdefault(event.aggregate_id, {})[event.version] = delivery

    def _apply_early(self, change: Change[Row], early: dict[int, Delivery]) -> None:
        """Apply what came before the event that it follows."""
        while following := early.get(change.after.version + 1):
            assert isinstance(following.record, RecordedEvent)
            if not self._apply(change, following.record, following):
                break
            del early[change.after.version]

    def _apply(self, change: Change[Row], event: RecordedEvent, delivery: Delivery) -> bool:
        """Apply an aggregate's next event, or note why that cannot be done."""
        row, group = change.after.row, change.after.group
        try:
            if not isinstance(event.payload, PassedOver):
                row = self.evolve(row, event)
                group = None if row is None else self.group(row)
        except Exception as error:
            kind = type(event.payload).__name__
            fault = self._faults[event.aggregate_id] = Unprojectable(
                delivery,
                f"{kind}, version {event.version} of {event.aggregate_type} "
                f"{event.aggregate_id!r}: {type(error).__name__}: {error}",
            )
            fault.__cause__ = error
            return False
        change.advance(event, row, group)
        self._applied += 1
        return True

    def _report(self) -> Applied:
        reached = {name: change.after.version for name, change in self.changes.items()}
        gaps = [
            Gap(self.aggregate_type, name, reached[name] + 1, max(early), self._faults.get(name))
            for name, early in self._early.items()
            if early
        ]
        versions = {(self.aggregate_type, name): version for name, version in reached.items()}
        return Applied(self._applied, self._skipped, gaps, versions)

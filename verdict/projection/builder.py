"""Final rows from whole histories, each in one pass; pure, as it runs on Spark's executors.

What `apply` reaches batch by batch, loading and writing rows, is reached here in memory: the same
functions over all records of a key, so that each row is written once.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby, islice
from typing import Any, Generic, NamedTuple, Protocol, runtime_checkable

from sqlalchemy import Connection

from verdict.database.statements import Values
from verdict.model.recorded_event import RecordedEvent
from verdict.projection.batch import Delivery, Record, Unreadable
from verdict.projection.fold import Evolve, Fold, Group, Kept, Key, Remains, Row
from verdict.projection.newest_states import NewestStates, key_of
from verdict.projection.projection import Gap, Projection, Unprojectable
from verdict.projection.stored_rows import stored_values

HISTORIES = 100  # that are folded at once; each leaves a row


class Built(NamedTuple):
    """A row of the projection's first table, and the gap behind which its aggregate waits."""

    values: Values | None
    gap: Gap | None = None


class Builder(Protocol):
    """Makes the rows of a projection's first table from everything that it follows."""

    @property
    def by_key(self) -> bool:
        """Whether all records of a key must come together, in the order of their offsets."""
        ...

    def __call__(self, deliveries: Iterable[Delivery]) -> Iterator[Built]:
        """Yield the rows, as they are after all of `deliveries`; those of a few keys are held.

        Raises:
            Unprojectable: A record is at fault.
        """
        ...


@runtime_checkable
class Rebuildable(Projection, Protocol):
    """A projection whose tables can be made from nothing in one go."""

    @property
    def builder(self) -> Builder:
        """Makes the rows of the first of `tables`."""
        ...

    def complete(self, connection: Connection) -> None:
        """Fill the rest of `tables`, which are empty, from the first one, which is complete."""
        ...


@dataclass(frozen=True)
class RowBuilder(Generic[Row]):
    """Folds events; the arguments are those of `RowProjection`."""

    evolve: Evolve[Row]
    group: Group[Row]
    row: type[Row]
    remains: Remains[Row] | None = None

    by_key = True

    def __call__(self, deliveries: Iterable[Delivery]) -> Iterator[Built]:
        """Yield a row per aggregate, also of those that are no more, and what they left behind."""
        for some in _histories(deliveries, _aggregate):
            yield from self._folded(some)

    def _folded(self, deliveries: Iterable[Delivery]) -> Iterator[Built]:
        fold = Fold(self.evolve, self.group, self.remains)
        gaps = {gap.key: gap for gap in fold.run({}, deliveries).gaps}
        for key, change in fold.changes.items():
            gap, kept = gaps.get(key), change.after
            if gap is not None and gap.fault is not None:
                raise gap.fault
            values = stored_values(self.row, key, kept) if kept.version else None
            yield Built(values, gap)
            for left in change.remains:
                yield Built(stored_values(self.row, key, left, left.version))


@dataclass(frozen=True)
class StateBuilder(Generic[Row]):
    """Keeps the newest states; the arguments are those of `StateProjection`."""

    shown: Callable[[Any], Row]
    group: Group[Row]
    row: type[Row]

    by_key = True

    def __call__(self, deliveries: Iterable[Delivery]) -> Iterator[Built]:
        """Yield a row per key that has a state, and the gap of each whose newest is at fault."""
        for some in _histories(deliveries, key_of):
            yield from self._newest(some)

    def _newest(self, deliveries: Iterable[Delivery]) -> Iterator[Built]:
        states = NewestStates(self.shown, self.group)
        gaps = {gap.key: gap for gap in states.run({}, deliveries).gaps}
        for key in {**states.changes, **gaps}:
            kept: Kept[Row] = states.changes[key].after if key in states.changes else Kept()
            values = None if kept.row is None else stored_values(self.row, key, kept)
            if values is not None or key in gaps:
                yield Built(values, gaps.get(key))


@dataclass(frozen=True)
class AppendBuilder:
    """Turns each record into its row; the argument is that of `AppendProjection`."""

    row: Callable[[Record], Values]

    by_key = False

    def __call__(self, deliveries: Iterable[Delivery]) -> Iterator[Built]:
        """Yield a row per record."""
        for delivery in deliveries:
            yield Built(values_of(delivery, self.row))


def values_of(delivery: Delivery, row: Callable[[Record], Values]) -> Values:
    """Return what `row` makes of a record.

    Raises:
        Unprojectable: It raised.
    """
    assert not isinstance(delivery.record, Unreadable)  # the engine stops before these
    try:
        return row(delivery.record)
    except Exception as error:
        raise Unprojectable(delivery, f"{type(error).__name__}: {error}") from error


def readable(deliveries: Iterable[Delivery]) -> Iterator[Delivery]:
    """Yield the deliveries.

    Raises:
        Unprojectable: One could not be decoded.
    """
    for delivery in deliveries:
        if isinstance(delivery.record, Unreadable):
            raise unreadable(delivery)
        yield delivery


def unreadable(delivery: Delivery) -> Unprojectable:
    """Return what a delivery that could not be decoded is for a projection."""
    assert isinstance(delivery.record, Unreadable)
    return Unprojectable(delivery, f"not readable: {delivery.record.error}")


def _histories(
    deliveries: Iterable[Delivery], key: Callable[[Delivery], Key]
) -> Iterator[Iterable[Delivery]]:
    """Yield the records of `HISTORIES` keys at a time, to be used up before the next ones."""
    histories = (records for _, records in groupby(deliveries, key))
    for first in histories:
        yield chain(first, chain.from_iterable(islice(histories, HISTORIES - 1)))


def _aggregate(delivery: Delivery) -> Key:
    assert isinstance(delivery.record, RecordedEvent), "rows are folded from events only"
    return delivery.record.aggregate_type, delivery.record.aggregate_id

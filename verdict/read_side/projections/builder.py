"""Final rows from whole histories, each in one pass; pure, as it runs on Spark's executors.

What `apply` reaches batch by batch, loading and writing rows, is reached here in memory: the same
functions over all records of a key, so that each row is written once.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice
from typing import Any, Generic, NamedTuple, Protocol, runtime_checkable

from sqlalchemy import Connection

from verdict.model.rows import Evolve
from verdict.read_side.apply.batch import Delivery, Record, UnreadableRecord
from verdict.read_side.projections.fold import Group, Key, Remains, Row
from verdict.read_side.projections.projection import CannotApplyError, Gap, Projection
from verdict.read_side.projections.row_source import EventSource, StateSource
from verdict.read_side.projections.stored_rows import RowForm
from verdict.wire.error_text import error_text

HISTORIES = 100  # that are folded at once; each leaves a row


class BuiltRows(NamedTuple):
    """A row of the projection's first table, and the gap behind which its aggregate waits.

    The values are those of the builder's `columns`.
    """

    values: tuple[Any, ...] | None
    gap: Gap | None = None


class Builder(Protocol):
    """Makes the rows of a projection's first table from everything that it follows."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of what a row has."""
        ...

    @property
    def by_key(self) -> bool:
        """Whether all records of a key must come together, in the order of their offsets."""
        ...

    def __call__(self, deliveries: Iterable[Delivery]) -> Iterator[BuiltRows]:
        """Yield the rows, as they are after all of `deliveries`; those of a few keys are held.

        Raises:
            CannotApplyError: A record is at fault.
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
    """Folds whole histories; the arguments are those of `RowProjection`, and the table's form."""

    source: EventSource | StateSource
    evolve: Evolve[Row]
    group: Group[Row]
    form: RowForm[Row]
    remains: Remains[Row] | None = None

    by_key = True

    @property
    def columns(self) -> Sequence[str]:
        """Those of the table."""
        return self.form.columns

    def __call__(self, deliveries: Iterable[Delivery]) -> Iterator[BuiltRows]:
        """Yield a row per aggregate, also of those that are no more, and what they left behind.

        A key whose newest state is at fault has a gap that says so. An event at fault ends it.
        """
        for some in _histories(deliveries, self.source.key):
            yield from self._folded(some)

    def _folded(self, deliveries: Iterable[Delivery]) -> Iterator[BuiltRows]:
        fold = self.source.fold(self.evolve, self.group, self.remains)
        gaps = {gap.key: gap for gap in fold.run({}, deliveries).gaps}
        for key, change in fold.changes.items():
            gap = gaps.pop(key, None)
            if gap is not None and gap.fault is not None and self.source.waits_for_events:
                raise gap.fault
            kept = change.after
            values = self.form.values(key, kept) if self.source.keeps(kept) else None
            if values is not None or gap is not None:
                yield BuiltRows(values, gap)
            for left in change.remains:
                yield BuiltRows(self.form.values(key, left, left.version))
        yield from (BuiltRows(None, gap) for gap in gaps.values())


@dataclass(frozen=True)
class AppendBuilder:
    """Turns each record into its row; the arguments are those of `AppendProjection`."""

    row: Callable[[Record], tuple[Any, ...]]
    columns: Sequence[str]

    by_key = False

    def __call__(self, deliveries: Iterable[Delivery]) -> Iterator[BuiltRows]:
        """Yield a row per record."""
        for delivery in deliveries:
            if delivery.record is not None:
                yield BuiltRows(row_of(delivery, self.row))


def row_of(delivery: Delivery, row: Callable[[Record], tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return what `row` makes of a record.

    Raises:
        CannotApplyError: It raised.
    """
    record = delivery.record
    assert record is not None
    assert not isinstance(record, UnreadableRecord)  # the engine stops before these
    try:
        return row(record)
    except Exception as error:
        raise CannotApplyError(delivery, error_text(error)) from error


def readable(deliveries: Iterable[Delivery]) -> Iterator[Delivery]:
    """Yield the deliveries.

    Raises:
        CannotApplyError: One could not be decoded.
    """
    for delivery in deliveries:
        if isinstance(delivery.record, UnreadableRecord):
            raise unreadable(delivery)
        yield delivery


def unreadable(delivery: Delivery) -> CannotApplyError:
    """Return what a delivery that could not be decoded is for a projection."""
    assert isinstance(delivery.record, UnreadableRecord)
    return CannotApplyError(delivery, f"not readable: {delivery.record.error}")


def _histories(
    deliveries: Iterable[Delivery], key: Callable[[Delivery], Key]
) -> Iterator[Iterable[Delivery]]:
    """Yield the records of `HISTORIES` keys at a time, to be used up before the next ones."""
    histories = (records for _, records in groupby(deliveries, key))
    for first in histories:
        yield chain(first, chain.from_iterable(islice(histories, HISTORIES - 1)))

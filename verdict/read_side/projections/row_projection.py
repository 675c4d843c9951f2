"""One row per aggregate, of one type or several, and optionally a table over groups of rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Generic

from sqlalchemy import ColumnElement, Connection, Table, Text, literal_column, select

from verdict.model.rows import Evolve
from verdict.read_side.apply.batch import Delivery
from verdict.read_side.projections.documented_view import described
from verdict.read_side.projections.group_table import GroupTable
from verdict.read_side.projections.latest_table import LatestTable
from verdict.read_side.projections.projection import (
    Applied,
    BuiltRow,
    Projection,
    Rebuildable,
    View,
)
from verdict.read_side.projections.row_fold import Group, Key, Remains, Row, RowChange
from verdict.read_side.projections.row_source import EventSource, StateSource
from verdict.read_side.projections.stored_rows import RowForm, StoredRows, is_of_types, unchanged
from verdict.wire.topics import Topics


def no_group(row: tuple[Any, ...]) -> None:
    """Put a row in no group."""


@dataclass(frozen=True)
class RowBuilder(Generic[Row]):
    """Folds whole histories in one pass, so each row is written once; pure, for other processes."""

    source: EventSource | StateSource
    evolve: Evolve[Row]
    group: Group[Row]
    form: RowForm[Row]
    remains: Remains[Row] | None = None

    @property
    def columns(self) -> Sequence[str]:
        return self.form.columns

    def __call__(self, deliveries: Iterable[Delivery]) -> Iterator[BuiltRow]:
        """Yield a row per aggregate, also of deleted ones, and what they left behind in groups.

        A key whose newest state is faulty has a gap that says so. A faulty event ends it.
        """
        for _, history in groupby(deliveries, self.source.key):
            yield from self._folded(history)

    def _folded(self, deliveries: Iterable[Delivery]) -> Iterator[BuiltRow]:
        fold = self.source.fold(self.evolve, self.group, self.remains)
        gaps = {gap.key: gap for gap in fold.run({}, deliveries).gaps}
        for key, change in fold.changes.items():
            gap = gaps.pop(key, None)
            if gap is not None and gap.fault is not None and self.source.waits_for_events:
                raise gap.fault
            kept = change.after
            values = self.form.values(key, kept) if self.source.keeps(kept) else None
            if values is not None or gap is not None:
                yield BuiltRow(values, gap)
            for left in change.remains:
                yield BuiltRow(self.form.values(key, left, left.version))
        yield from (BuiltRow(None, gap) for gap in gaps.values())


@dataclass(frozen=True, kw_only=True)
class RowProjection(Rebuildable, Generic[Row]):
    """A projection with one row per aggregate.

    Args:
        name: Of the projection.
        version: Part of every table's name; another version has tables of its own.
        table: From `row_table`; with several types or with `remains` from one `of_types`.
        views: View name → what it selects.
        settings: What these functions depend on besides the events.
        feed: Where the groups that begin and end are written down, None for nowhere.
        source: What it follows.
        row: The named tuple that `evolve` deals in; its fields are the declared columns.
        evolve: (row or None, event) → row or None; pure, and it never sees an event twice.
        group: Row → the group it belongs to, or None; pure.
        remains: (row, event) → the row that stays in the group which `row` leaves by `event`, for
            good; pure. None: nothing stays.
        shows: What readers see of the groups, None for nothing.
    """

    source: EventSource | StateSource
    row: type[Row]
    evolve: Evolve[Row]
    group: Group[Row] = no_group
    remains: Remains[Row] | None = None
    shows: GroupTable[Row] | LatestTable[Row] | None = None

    @property
    def waits_for_events(self) -> bool:
        return self.source.waits_for_events

    @property
    def aggregate_types(self) -> tuple[str, ...]:
        return self.source.types

    @property
    def sequences(self) -> Sequence[str]:
        return () if self.feed is None else (self.feed.table.name,)

    @property
    def tables(self) -> Sequence[Table]:
        return [self.table, *(() if self.shows is None else (self.shows.table,))]

    def topics(self, topics: Topics) -> Sequence[str]:
        return self.source.topics(topics)

    def apply(self, connection: Connection, deliveries: Sequence[Delivery]) -> Applied:
        """Load the touched rows, fold, write what changed, then update the groups."""
        rows = StoredRows(self.table, self.row)
        kept = rows.load(connection, {*map(self.source.key, deliveries)})
        fold = self.source.fold(self.evolve, self.group, self.remains)
        applied = fold.run(kept, deliveries)
        changes = fold.changes
        self._write(connection, rows, changes)
        if self.shows is not None:
            turns = self.shows.update(connection, changes.values())
            if self.feed is not None:
                self.feed.append(connection, turns, changes.values())
        return applied

    @property
    def builder(self) -> RowBuilder[Row]:
        form = RowForm(self.row, is_of_types(self.table))
        return RowBuilder(self.source, self.evolve, self.group, form, self.remains)

    def complete(self, connection: Connection) -> None:
        if self.shows is not None:
            self.shows.fill(connection)

    def _write(
        self, connection: Connection, rows: StoredRows[Row], changes: Mapping[Key, RowChange[Row]]
    ) -> None:
        if not self.source.waits_for_events:
            gone = [key for key, one in changes.items() if not self.source.keeps(one.after)]
            rows.remove(connection, gone)
            changes = {key: one for key, one in changes.items() if self.source.keeps(one.after)}
        rows.put(connection, changes)


def without_feed(projection: Projection) -> Projection:
    """Return the same projection, which leaves the feed alone that readers follow."""
    if isinstance(projection, RowProjection):
        return replace(projection, feed=None)
    return projection


def version_view(name: str, aggregate_type: str | None, table: Table) -> dict[str, View]:
    """Return the view of how far each aggregate has come in the projection `name`.

    Without `aggregate_type` the table of rows says the type of each.
    """
    kind: ColumnElement[str] = (
        table.c.aggregate_type
        if aggregate_type is None
        else literal_column(f"'{aggregate_type}'", Text).label("aggregate_type")
    )
    selected = select(kind, table.c.aggregate_id, table.c.version)
    if is_of_types(table):
        selected = selected.where(unchanged(table))
    shown = described(
        selected,
        f"How far each {aggregate_type or 'aggregate'} has come in {name}: whether it shows a "
        "command yet.",
        aggregate_type="Type of the aggregate.",
        aggregate_id="Id of the aggregate, deleted or not.",
        version="Its version after the last event that is applied.",
    )
    return {f"{name}_version": shown}

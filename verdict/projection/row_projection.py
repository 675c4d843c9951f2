"""One row per aggregate, folded from its events; optionally with a view over groups of rows.

The aggregates may be of several types: a group then has rows of each, such as a client with orders
and positions. What an event is about decides which row it changes, and that row which group.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, Self

from sqlalchemy import ColumnElement, Connection, Table, Text, literal_column, select

from verdict.projection.batch import Delivery
from verdict.projection.builder import RowBuilder, aggregate_of
from verdict.projection.described import described
from verdict.projection.fold import Change, Evolve, Fold, Group, Remains, Row
from verdict.projection.projection import Applied, Projection, View
from verdict.projection.stored_rows import Form, StoredRows, as_it_is, is_of_types
from verdict.wire.topics import Topics


class GroupView(Protocol[Row]):
    """What is shown of groups: who is in, a tally, the newest few."""

    def update(self, connection: Connection, changes: Iterable[Change[Row]]) -> None:
        """Bring the groups' tables up to date by the difference of the rows before and after.

        Args:
            connection: In the transaction that has written the rows already.
            changes: Of the touched aggregates, changed or not.
        """
        ...

    def fill(self, connection: Connection) -> None:
        """Make the groups' tables, which are empty, from the rows, which are all there."""
        ...

    @property
    def tables(self) -> Sequence[Table]:
        """The tables of the groups, without feeds."""
        ...

    def unannounced(self) -> "GroupView[Row]":
        """Return the same, which leaves its feed alone."""
        ...

    def announce(self, connection: Connection, before: "GroupView[Row]", now: int) -> None:
        """Tell the feed of the groups that readers see now and did not, and the other way."""
        ...


def no_group(row: tuple[Any, ...]) -> None:
    """Put a row in no group."""


@dataclass(frozen=True, kw_only=True)
class RowProjection(Generic[Row]):
    """A read model folded from the events of one aggregate type or several.

    Args:
        name: Of the projection.
        version: Part of every table's name; another version is built beside this one.
        aggregate_types: Whose events it follows.
        row: The named tuple that `evolve` deals in; its fields are the declared columns.
        table: From `row_table`; for several types or with `remains` from `row_table_of_types`.
        evolve: (row or None, event) → row or None; pure, and it never sees an event twice.
        group: Row → the group it belongs to, or None; pure.
        remains: (row, event) → the row that stays in the group which `row` leaves by `event`, for
            good; pure. Only a `Tally` counts it. None: nothing stays.
        shows: What readers see of the groups, None for nothing.
        views: View name → what it selects.
        sequences: Names of the sequences that its tables number by.
        settings: What these functions depend on besides the events, spelled out.
    """

    name: str
    version: int
    aggregate_types: tuple[str, ...]
    row: type[Row]
    table: Table
    evolve: Evolve[Row]
    group: Group[Row] = no_group
    remains: Remains[Row] | None = None
    shows: GroupView[Row] | None = None
    views: Mapping[str, View]
    sequences: Sequence[str] = ()
    settings: str = ""

    waits_for_events = True

    @property
    def tables(self) -> Sequence[Table]:
        """The rows, and the groups that are shown of them."""
        return [self.table, *(() if self.shows is None else self.shows.tables)]

    def unannounced(self) -> Self:
        """Return the same projection, whose groups begin and end without a word."""
        return self if self.shows is None else replace(self, shows=self.shows.unannounced())

    def announce(self, connection: Connection, before: Projection, now: int) -> None:
        """Tell the feed in which groups the two versions differ."""
        if self.shows is not None and isinstance(before, RowProjection) and before.shows:
            self.shows.announce(connection, before.shows, now)

    def topics(self, topics: Topics) -> Sequence[str]:
        """Return the topics that the aggregates' events are on."""
        return [topics.events(aggregate_type) for aggregate_type in self.aggregate_types]

    def apply(self, connection: Connection, deliveries: Sequence[Delivery]) -> Applied:
        """Load the touched rows, fold, write what changed, then update the groups."""
        rows = StoredRows(self.table, self.row)
        kept = rows.load(connection, {*map(aggregate_of, deliveries)})
        fold = Fold(self.evolve, self.group, self.remains)
        applied = fold.run(kept, deliveries)
        changes = fold.changes
        rows.put(
            connection,
            {key: one.after for key, one in changes.items() if one.after is not one.before},
            kept,
            [(key, left) for key, one in changes.items() for left in one.remains],
        )
        if self.shows is not None:
            self.shows.update(connection, changes.values())
        return applied

    @property
    def builder(self) -> RowBuilder[Row]:
        """Folds whole histories."""
        form = Form(self.row, is_of_types(self.table))
        return RowBuilder(self.evolve, self.group, form, self.remains)

    def complete(self, connection: Connection) -> None:
        """Make the groups from the rows."""
        if self.shows is not None:
            self.shows.fill(connection)


def version_view(name: str, aggregate_type: str | None, table: Table) -> dict[str, View]:
    """Return the view of how far each aggregate has come in the projection `name`.

    Who has the response to a command finds out there whether the projection shows it yet.

    Args:
        name: Of the projection.
        aggregate_type: Whose events it follows; None where the table says it of each row.
        table: Of the rows.
    """
    kind: ColumnElement[str] = (
        table.c.aggregate_type
        if aggregate_type is None
        else literal_column(f"'{aggregate_type}'", Text).label("aggregate_type")
    )
    selected = select(kind, table.c.aggregate_id, table.c.version)
    if is_of_types(table):
        selected = selected.where(as_it_is(table))
    shown = described(
        selected,
        f"How far each {aggregate_type or 'aggregate'} has come in {name}: whether it shows a "
        "command yet.",
        aggregate_type="Type of the aggregate.",
        aggregate_id="Id of the aggregate, be it deleted or not.",
        version="Its version after the last event that is applied.",
    )
    return {f"{name}_version": shown}

"""One row per aggregate, folded from its events; optionally with a view over groups of rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    MetaData,
    Table,
    Text,
    select,
)

from projections.engine.batch import Delivery
from projections.engine.fold import Change, Evolve, Fold, Group, Kept, Row
from projections.engine.projection import Applied, View
from projections.engine.statements import Values, is_any_of, put
from schemas.recorded_event import RecordedEvent
from schemas.topics import Topics

# by its bytes and not by the rules of a language, as what is ordered by ids is the same everywhere
IdType = Text().with_variant(Text(collation="C"), "postgresql")


def row_table(name: str, metadata: MetaData, *columns: Column[Any]) -> Table:
    """Return a table of one row per aggregate: the engine's columns, then the declared ones.

    A row that was removed stays with `present` false and nothing in the declared columns, so that
    its `version` still tells old events from new ones. `group_key` is the group that the row
    counts in: put an index on it when groups are read again from it.
    """
    for column in columns:
        column.nullable = True  # for what remains of a removed row
    return Table(
        name,
        metadata,
        Column("aggregate_id", IdType, primary_key=True),
        Column("version", BigInteger, nullable=False),
        Column("present", Boolean, nullable=False),
        Column("group_key", Text),
        *columns,
    )


class GroupView(Protocol[Row]):
    """What is shown of groups: who is in, a tally, the newest few."""

    def update(self, connection: Connection, changes: Mapping[str, Change[Row]]) -> None:
        """Bring the groups' tables up to date by the difference of the rows before and after.

        Args:
            connection: In the transaction that has written the rows already.
            changes: By aggregate id, the touched aggregates, changed or not.
        """
        ...


def no_group(row: tuple[Any, ...]) -> None:
    """Put a row in no group."""


@dataclass(frozen=True, kw_only=True)
class RowProjection(Generic[Row]):
    """A read model folded from one aggregate type's events.

    Args:
        name: Of the projection.
        version: Part of every table's name; another version is built beside this one.
        aggregate_type: Whose events it follows.
        row: The named tuple that `evolve` deals in; its fields are the declared columns.
        table: From `row_table`.
        evolve: (row or None, event) → row or None; pure, and it never sees an event twice.
        group: Row → the group it belongs to, or None; pure.
        shows: What readers see of the groups, None for nothing.
        views: View name → what it selects.
        sequences: Names of the sequences that its tables number by.
        settings: What `evolve` and `group` depend on besides the events, spelled out.
    """

    name: str
    version: int
    aggregate_type: str
    row: type[Row]
    table: Table
    evolve: Evolve[Row]
    group: Group[Row] = no_group
    shows: GroupView[Row] | None = None
    views: Mapping[str, View]
    sequences: Sequence[str] = ()
    settings: str = ""

    @property
    def metadata(self) -> MetaData:
        """The tables of this projection and no others."""
        return self.table.metadata

    def topics(self, topics: Topics) -> Sequence[str]:
        """Return the one topic that the aggregate's events are on."""
        return (topics.events(self.aggregate_type),)

    def apply(self, connection: Connection, deliveries: Sequence[Delivery]) -> Applied:
        """Load the touched rows, fold, write what changed, then update the groups."""
        events = [d.record for d in deliveries if isinstance(d.record, RecordedEvent)]
        kept = self._load(connection, {event.aggregate_id for event in events})
        fold = Fold(self.aggregate_type, self.evolve, self.group)
        applied = fold.run(kept, deliveries)
        put(connection, self.table, [*self._rows(fold.changes)])
        if self.shows is not None:
            self.shows.update(connection, fold.changes)
        return applied

    def _load(self, connection: Connection, aggregate_ids: set[str]) -> dict[str, Kept[Row]]:
        columns = self.table.c
        declared = (columns[name] for name in self._fields)
        statement = select(
            columns.aggregate_id, columns.version, columns.group_key, columns.present, *declared
        ).where(is_any_of(connection, columns.aggregate_id, aggregate_ids))
        return {
            name: Kept(version, self._row(values) if present else None, group)
            for name, version, group, present, *values in connection.execute(statement)
        }

    def _rows(self, changes: Mapping[str, Change[Row]]) -> Iterator[Values]:
        nothing: Values = dict.fromkeys(self._fields)
        for name, change in changes.items():
            if (after := change.after) is not change.before:
                row = (
                    nothing
                    if after.row is None
                    else dict(zip(self._fields, after.row, strict=True))
                )
                yield {
                    "aggregate_id": name,
                    "version": after.version,
                    "present": after.row is not None,
                    "group_key": after.group,
                    **row,
                }

    @property
    def _fields(self) -> tuple[str, ...]:
        fields: tuple[str, ...] = self.row._fields  # type: ignore[attr-defined]  # a named tuple
        return fields

    def _row(self, values: Sequence[Any]) -> Row:
        row: Row = self.row(*values)
        return row

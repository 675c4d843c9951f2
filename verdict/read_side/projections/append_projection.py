"""One row per record, written once and never changed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table

from verdict.adapters.sql.bulk import BulkRows
from verdict.adapters.sql.statements import add_new
from verdict.read_side.apply.batch import Delivery, Record
from verdict.read_side.projections.builder import AppendBuilder, row_of
from verdict.read_side.projections.projection import Applied, View
from verdict.wire.topics import Topics


@dataclass(frozen=True, kw_only=True)
class AppendProjection:
    """A read model that only grows.

    Args:
        name: Of the projection.
        version: Part of its table's name.
        table: Its primary key tells records apart: one that is there already is skipped.
        columns: What a row has, in this order.
        row: Record → its row; pure. A delivery without a record has no row.
        follows: The topics, by their names in a deployment.
        views: View name → what it selects.
        settings: What `row` depends on besides the record, spelled out.
    """

    name: str
    version: int
    table: Table
    columns: Sequence[str]
    row: Callable[[Record], tuple[Any, ...]]
    follows: Callable[[Topics], Sequence[str]]
    views: Mapping[str, View]
    settings: str = ""

    sequences = ()
    feed = None
    waits_for_events = False  # it holds nothing

    @property
    def tables(self) -> Sequence[Table]:
        """The table; a row's place and content follow from its record."""
        return [self.table]

    def topics(self, topics: Topics) -> Sequence[str]:
        """Return the topics that it follows."""
        return self.follows(topics)

    def apply(self, connection: Connection, deliveries: Sequence[Delivery]) -> Applied:
        """Insert a row for each record that has none."""
        return self.insert(connection, self.rows(deliveries))

    def rows(self, deliveries: Iterable[Delivery]) -> Sequence[tuple[Any, ...]]:
        """Return the rows of records, which workers may have made."""
        return [one.row or row_of(one, self.row) for one in deliveries if one.row or one.record]

    def insert(self, connection: Connection, rows: Sequence[tuple[Any, ...]]) -> Applied:
        """Insert the rows that are not there."""
        new = add_new(connection, self.table, BulkRows(self.columns, rows))
        return Applied(applied=new, skipped=len(rows) - new)

    @property
    def builder(self) -> AppendBuilder:
        """Makes a row of each record."""
        return AppendBuilder(self.row, self.columns)

    def complete(self, connection: Connection) -> None:
        """Do nothing, as there is one table only."""

"""One row per record, written once and never changed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Table

from verdict.database.statements import Values, add_new
from verdict.projection.batch import Delivery, Record
from verdict.projection.builder import AppendBuilder, values_of
from verdict.projection.feedless import Feedless
from verdict.projection.projection import Applied, View
from verdict.wire.topics import Topics


@dataclass(frozen=True, kw_only=True)
class AppendProjection(Feedless):
    """A read model that only grows.

    Args:
        name: Of the projection.
        version: Part of its table's name.
        table: Its primary key tells records apart: one that is there already is skipped.
        row: Record → the values of its row; pure.
        follows: The topics, by their names in a deployment.
        views: View name → what it selects.
        settings: What `row` depends on besides the record, spelled out.
    """

    name: str
    version: int
    table: Table
    row: Callable[[Record], Values]
    follows: Callable[[Topics], Sequence[str]]
    views: Mapping[str, View]
    settings: str = ""

    sequences = ()
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
        rows = [values_of(delivery, self.row) for delivery in deliveries]
        new = add_new(connection, self.table, rows)
        return Applied(applied=new, skipped=len(rows) - new)

    @property
    def builder(self) -> AppendBuilder:
        """Makes a row of each record."""
        return AppendBuilder(self.row)

    def complete(self, connection: Connection) -> None:
        """Do nothing, as there is one table only."""

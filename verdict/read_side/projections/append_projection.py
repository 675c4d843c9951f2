"""One row per record, written once and never changed."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Table

from verdict.adapters.sql.bulk import BulkRows
from verdict.adapters.sql.statements import add_new
from verdict.read_side.apply.batch import Delivery
from verdict.read_side.projections.builtin.rows import OutcomeRow, RejectedCommand
from verdict.read_side.projections.projection import Applied, BuiltRow, View
from verdict.wire.topics import Topics


@dataclass(frozen=True)
class AppendBuilder:
    """Yields each record, which is its row."""

    columns: Sequence[str]

    by_key = False

    def __call__(self, deliveries: Iterable[Delivery]) -> Iterator[BuiltRow]:
        for delivery in deliveries:
            if isinstance(delivery.record, OutcomeRow | RejectedCommand):
                yield BuiltRow(delivery.record)


@dataclass(frozen=True, kw_only=True)
class AppendProjection:
    """A projection that only grows.

    Args:
        name: Of the projection.
        version: Part of its table's name.
        table: Its primary key tells records apart: one that is there already is skipped.
        columns: What a record has, in this order.
        topic_of: (topics, aggregate type) → the topic that it follows.
        views: View name → what it selects.
    """

    name: str
    version: int
    table: Table
    columns: Sequence[str]
    topic_of: Callable[[Topics, str], str]
    views: Mapping[str, View]
    settings: str = ""

    sequences = ()
    feed = None
    waits_for_events = False  # it holds nothing

    @property
    def tables(self) -> Sequence[Table]:
        """The table; the position and the values of a row follow from its record."""
        return [self.table]

    def topics(self, topics: Topics) -> Sequence[str]:
        return [self.topic_of(topics, name) for name in topics.application.aggregate_types]

    def apply(self, connection: Connection, deliveries: Sequence[Delivery]) -> Applied:
        """Insert a row for each record that has none; a worker hands it over as `row`."""
        built = self.builder(one for one in deliveries if not one.row)
        rows = [one.row for one in deliveries if one.row]
        rows += [one.values for one in built if one.values]
        new = add_new(connection, self.table, BulkRows(self.columns, rows))
        return Applied(applied=new, skipped=len(rows) - new)

    @property
    def builder(self) -> AppendBuilder:
        return AppendBuilder(self.columns)

    def complete(self, connection: Connection) -> None:
        """Do nothing, as there is one table only."""

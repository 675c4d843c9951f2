"""The table of a projection's rows, as the fold takes them and gives them back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from sqlalchemy import BigInteger, Boolean, Column, Connection, MetaData, Table, Text, select

from verdict.database.statements import Values, is_any_of, put
from verdict.projection.fold import Kept, Row


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
        Column("aggregate_id", Text, primary_key=True),
        Column("version", BigInteger, nullable=False),
        Column("present", Boolean, nullable=False),
        Column("group_key", Text),
        *columns,
    )


@dataclass(frozen=True)
class StoredRows(Generic[Row]):
    """Reads and writes rows in bulk.

    Args:
        table: From `row_table`.
        row: The named tuple of the declared columns.
    """

    table: Table
    row: type[Row]

    def load(self, connection: Connection, aggregate_ids: Iterable[str]) -> dict[str, Kept[Row]]:
        """Return what is kept of these aggregates; nothing is kept of those that are missing."""
        columns = self.table.c
        declared = (columns[name] for name in _fields(self.row))
        statement = select(
            columns.aggregate_id, columns.version, columns.group_key, columns.present, *declared
        ).where(is_any_of(connection, columns.aggregate_id, aggregate_ids))
        return {
            name: Kept(version, self._row(values) if present else None, group)
            for name, version, group, present, *values in connection.execute(statement)
        }

    def put(self, connection: Connection, kept: Mapping[str, Kept[Row]]) -> None:
        """Write what is kept of these aggregates now."""
        rows = [stored_values(self.row, name, one) for name, one in kept.items()]
        put(connection, self.table, rows)

    def _row(self, values: Sequence[Any]) -> Row:
        row: Row = self.row(*values)
        return row


def stored_values(row: type[Row], name: str, kept: Kept[Row]) -> Values:
    """Return what the table holds of an aggregate.

    Args:
        row: The named tuple of the declared columns.
        name: The aggregate's id.
        kept: What is kept of it.
    """
    fields = _fields(row)
    declared = (
        dict.fromkeys(fields) if kept.row is None else dict(zip(fields, kept.row, strict=True))
    )
    return {
        "aggregate_id": name,
        "version": kept.version,
        "present": kept.row is not None,
        "group_key": kept.group,
        **declared,
    }


def _fields(row: type[Row]) -> tuple[str, ...]:
    fields: tuple[str, ...] = row._fields  # type: ignore[attr-defined]  # a named tuple
    return fields

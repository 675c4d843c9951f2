"""The table of a projection's rows, as the fold takes them and gives them back."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Generic

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    MetaData,
    Table,
    Text,
    literal,
    select,
    true,
)

from verdict.database.statements import is_any_of, put
from verdict.projection.fold import Kept, Key, Row

AS_IT_IS = 0  # in `left_with`, as no event has this version


def row_table(name: str, metadata: MetaData, *columns: Column[Any]) -> Table:
    """Return a table of one row per aggregate: the engine's columns, then the declared ones.

    A row that was removed stays with `present` false and nothing in the declared columns, so that
    its `version` still tells old events from new ones. `group_key` is the group that the row
    counts in: put an index on it when groups are read again from it.
    """
    return _table(name, metadata, [Column("aggregate_id", Text, primary_key=True)], columns)


def row_table_of_types(name: str, metadata: MetaData, *columns: Column[Any]) -> Table:
    """Return a table as `row_table` does, for several aggregate types: an id may be in each.

    It also has room for what aggregates leave behind in groups: `left_with` is the version with
    which the aggregate of such a row went elsewhere, and 0 in its row as it is.
    """
    key: list[Column[Any]] = [
        Column("aggregate_id", Text, primary_key=True),  # the first, as rows are looked up by it
        Column("aggregate_type", Text, primary_key=True),
        Column("left_with", BigInteger, primary_key=True, autoincrement=False),
    ]
    return _table(name, metadata, key, columns)


def _table(
    name: str, metadata: MetaData, key: Sequence[Column[Any]], columns: Sequence[Column[Any]]
) -> Table:
    for column in columns:
        column.nullable = True  # for what remains of a removed row
    return Table(
        name,
        metadata,
        *key,
        Column("version", BigInteger, nullable=False),
        Column("present", Boolean, nullable=False),
        Column("group_key", Text),
        *columns,
    )


def is_of_types(table: Table) -> bool:
    """Tell whether a table of rows is for several aggregate types."""
    return "aggregate_type" in table.c


def as_it_is(table: Table) -> ColumnElement[bool]:
    """Return whether a row is that of an aggregate as it is, and not what it left behind."""
    return table.c.left_with == AS_IT_IS if is_of_types(table) else true()


@dataclass(frozen=True)
class StoredRows(Generic[Row]):
    """Reads and writes rows in bulk.

    Args:
        table: From `row_table`, if all keys are of one type, or from `row_table_of_types`.
        row: The named tuple of the declared columns.
    """

    table: Table
    row: type[Row]

    def load(self, connection: Connection, keys: Set[Key]) -> dict[Key, Kept[Row]]:
        """Return what is kept of these aggregates; nothing is kept of those that are missing."""
        if not keys:
            return {}
        columns = self.table.c
        declared = (columns[name] for name in _fields(self.row))
        asked = is_any_of(connection, columns.aggregate_id, {name for _, name in keys})
        statement = select(
            self._type(keys),
            columns.aggregate_id,
            columns.version,
            columns.group_key,
            columns.present,
            *declared,
        ).where(asked, as_it_is(self.table))
        return {
            (kind, name): Kept(version, self._row(values) if present else None, group)
            for kind, name, version, group, present, *values in connection.execute(statement)
        }

    def put(
        self,
        connection: Connection,
        kept: Mapping[Key, Kept[Row]],
        remains: Iterable[tuple[Key, Kept[Row]]] = (),
    ) -> None:
        """Write what is kept of these aggregates now, and what aggregates left behind."""
        rows = [stored_values(self.row, key, one) for key, one in kept.items()]
        rows += [stored_values(self.row, key, one, one.version) for key, one in remains]
        if not is_of_types(self.table):
            for row in rows:
                del row["aggregate_type"], row["left_with"]
        put(connection, self.table, rows)

    def _type(self, keys: Set[Key]) -> ColumnElement[str]:
        if is_of_types(self.table):
            return self.table.c.aggregate_type
        (kind,) = {kind for kind, _ in keys}
        return literal(kind, Text)

    def _row(self, values: Sequence[Any]) -> Row:
        row: Row = self.row(*values)
        return row


def stored_values(
    row: type[Row], key: Key, kept: Kept[Row], left_with: int = AS_IT_IS
) -> dict[str, Any]:
    """Return what the table holds of an aggregate, and more where it is not `row_table_of_types`.

    Args:
        row: The named tuple of the declared columns.
        key: Of the aggregate.
        kept: What is kept of it.
        left_with: The version with which it left this behind; 0: this is how it is.
    """
    fields = _fields(row)
    declared = (
        dict.fromkeys(fields) if kept.row is None else dict(zip(fields, kept.row, strict=True))
    )
    aggregate_type, name = key
    return {
        "aggregate_id": name,
        "aggregate_type": aggregate_type,
        "left_with": left_with,
        "version": kept.version,
        "present": kept.row is not None,
        "group_key": kept.group,
        **declared,
    }


def _fields(row: type[Row]) -> tuple[str, ...]:
    fields: tuple[str, ...] = row._fields  # type: ignore[attr-defined]  # a named tuple
    return fields

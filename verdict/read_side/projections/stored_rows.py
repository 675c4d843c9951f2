"""The table of a projection's rows, as the fold takes them and gives them back."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Generic, get_type_hints

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    LargeBinary,
    MetaData,
    Table,
    Text,
    delete,
    literal,
    select,
    true,
)
from sqlalchemy.types import TypeEngine

from verdict.adapters.sql.bulk import BulkRows
from verdict.adapters.sql.column_types import InstantType
from verdict.adapters.sql.statements import append, is_any_of, put
from verdict.model.field_types import is_optional, unwrapped
from verdict.model.rows import FieldType, row_fields
from verdict.read_side.projections.row_fold import FoldedRow, Key, Row, RowChange

CLUSTERED = "clustered"  # on SQLite its rows are in the order of the key, without an index for it

Stored = tuple[Any, ...]  # what a table holds of an aggregate, key first

SQL_TYPES: Mapping[FieldType, type[TypeEngine[Any]]] = {
    "text": Text, "integer": BigInteger, "boolean": Boolean, "time": InstantType,
}  # fmt: skip
SCALARS: Mapping[type, type[TypeEngine[Any]]] = {
    str: Text, int: BigInteger, bool: Boolean, bytes: LargeBinary,
}  # fmt: skip
AS_IT_IS = 0  # in `left_with`, as no event has this version


def row_table(
    name: str, metadata: MetaData, *columns: Column[Any], of_types: bool = False
) -> Table:
    """Return a table of one row per aggregate: the engine's columns, then the declared ones.

    A removed row stays, with `present` false, for its `version`. `group_key` is the group that the
    row counts in.

    Args:
        name: Of the table.
        metadata: That of the projection.
        *columns: The declared ones.
        of_types: For several aggregate types, and for what aggregates leave behind in groups:
            `left_with` is the version with which they left, and 0 in the row as it is.
    """
    for column in columns:
        column.nullable = True  # for what remains of a removed row
    key: list[Column[Any]] = [Column("aggregate_id", Text, primary_key=True)]
    if of_types:  # after the id, as rows are looked up by that
        key.append(Column("aggregate_type", Text, primary_key=True))
        key.append(Column("left_with", BigInteger, primary_key=True, autoincrement=False))
    return Table(
        name,
        metadata,
        *key,
        Column("version", BigInteger, nullable=False),
        Column("present", Boolean, nullable=False),
        Column("group_key", Text),
        *columns,
        info={CLUSTERED: True},
    )


def columns_of(row: type[Any]) -> list[Column[Any]]:
    """Return the columns of a row that is declared with types."""
    return [Column(field.name, SQL_TYPES[field.type]) for field in row_fields(row).values()]


def columns_of_record(row: type[Any], key: Collection[str] = ()) -> list[Column[Any]]:
    """Return the columns of rows that are made of records: `decided_at` is a time."""
    columns = []
    for name, hint in get_type_hints(row, include_extras=True).items():
        plain, marks = unwrapped(hint)
        type_ = InstantType if name == "decided_at" else SCALARS[plain]
        about = next((mark.documentation for mark in marks), None)
        columns.append(
            Column(name, type_, primary_key=name in key, nullable=is_optional(hint), comment=about)
        )
    return columns


def is_of_types(table: Table) -> bool:
    return "aggregate_type" in table.c


def unchanged(table: Table) -> ColumnElement[bool]:
    """Return whether a row is that of an aggregate as it is, and not what it left behind."""
    return table.c.left_with == AS_IT_IS if is_of_types(table) else true()


@dataclass(frozen=True)
class RowForm(Generic[Row]):
    """How a table holds rows."""

    row: type[Row]
    of_types: bool

    @property
    def columns(self) -> Sequence[str]:
        """The names of what `values` returns."""
        types = ("aggregate_type", "left_with") if self.of_types else ()
        return ("aggregate_id", *types, "version", "present", "group_key", *fields_of(self.row))

    def values(self, key: Key, kept: FoldedRow[Row], left_with: int = AS_IT_IS) -> Stored:
        version, row, group = kept
        present = row is not None
        declared = (None,) * len(fields_of(self.row)) if row is None else row
        if self.of_types:
            return (key[1], key[0], left_with, version, present, group, *declared)
        return (key[1], version, present, group, *declared)


@dataclass(frozen=True)
class StoredRows(Generic[Row]):
    """Reads and writes rows in bulk."""

    table: Table
    row: type[Row]

    def load(self, connection: Connection, keys: Set[Key]) -> dict[Key, FoldedRow[Row]]:
        """Return what is kept of these aggregates, if anything."""
        if not keys:
            return {}
        columns = self.table.c
        declared = (columns[name] for name in fields_of(self.row))
        wanted = is_any_of(connection, columns.aggregate_id, {name for _, name in keys})
        if is_of_types(self.table):
            kind: ColumnElement[str] = columns.aggregate_type
        else:
            kind = literal(next(iter(keys))[0], Text)  # all are of one type
        known = columns.aggregate_id, columns.version, columns.group_key, columns.present
        statement = select(kind, *known, *declared).where(wanted, unchanged(self.table))
        make = self.row._make  # type: ignore[attr-defined]  # a named tuple
        return {
            (row[0], row[1]): FoldedRow(row[2], make(row[5:]) if row[4] else None, row[3])
            for row in connection.execute(statement).all()
        }

    def put(self, connection: Connection, changes: Mapping[Key, RowChange[Row]]) -> None:
        """Write what is kept of aggregates now, and what they left behind.

        Where no index has to change none is touched, which would be most of what a row costs.
        """
        form = self.form
        indexed = {column.name for index in self.table.indexes for column in index.columns}
        leaves_alone = self._leaves_alone(indexed)
        new, stay, move = list[Stored](), list[Stored](), list[Stored]()
        for key, change in changes.items():
            before, after = change.before, change.after
            new += [form.values(key, left, left.version) for left in change.remains]
            if before is not after:
                known = stay if leaves_alone(before, after) else move
                (known if before.version else new).append(form.values(key, after))
        # in the order of their keys, neighbours are on one page
        append(connection, self.table, BulkRows(form.columns, sorted(new)))
        put(connection, self.table, BulkRows(form.columns, sorted(stay)), but=indexed)
        put(connection, self.table, BulkRows(form.columns, sorted(move)))

    def remove(self, connection: Connection, keys: Iterable[Key]) -> None:
        """Delete the rows of these aggregates, all of one type, and their versions with them."""
        if names := [name for _, name in keys]:
            gone = is_any_of(connection, self.table.c.aggregate_id, names)
            connection.execute(delete(self.table).where(gone))

    @property
    def form(self) -> RowForm[Row]:
        return RowForm(self.row, is_of_types(self.table))

    def _leaves_alone(
        self, indexed: Collection[str]
    ) -> Callable[[FoldedRow[Row], FoldedRow[Row]], bool]:
        at = [number for number, name in enumerate(fields_of(self.row)) if name in indexed]
        of: Callable[[Row], Any] = itemgetter(*at) if at else bool

        def leaves_alone(before: FoldedRow[Row], after: FoldedRow[Row]) -> bool:
            old, new = before.row, after.row
            if before.group != after.group or old is None or new is None:
                return False
            return bool(of(old) == of(new))

        return leaves_alone


def fields_of(row: type[Row]) -> tuple[str, ...]:
    fields: tuple[str, ...] = row._fields  # type: ignore[attr-defined]
    return fields

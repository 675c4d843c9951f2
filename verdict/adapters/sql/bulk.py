"""Many rows at once: how they are passed, and COPY into PostgreSQL.

COPY writes to a temporary table, from which one INSERT takes the rows: four times as fast as an
INSERT with parameters. The table stays, empty, as long as the session: a new one each time would
fill the system catalogue.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import (
    BindParameter,
    Column,
    ColumnElement,
    Connection,
    Insert,
    LargeBinary,
    MetaData,
    Table,
    select,
    text,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateTable
from sqlalchemy.sql import visitors
from sqlalchemy.types import TypeEngine

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

Values = dict[str, Any]
Row = tuple[Any, ...]
Computed = Mapping[str, ColumnElement[Any]]

MANY = 500  # rows, from which on COPY pays


class BulkRows(NamedTuple):
    """Rows with values in the order of `names`, which are those of columns or parameters."""

    names: Sequence[str]
    values: Sequence[Row]

    def in_order(self, names: Sequence[str]) -> Sequence[Row]:
        """Return the values of each row in the order of `names`, which may be repeated."""
        if list(self.names) == list(names):
            return self.values
        at = [self.names.index(name) for name in names]
        if len(at) == 1:
            return [(row[at[0]],) for row in self.values]
        return [*map(itemgetter(*at), self.values)]

    def column(self, name: str) -> list[Any]:
        """Return the values of one column."""
        return [*map(itemgetter(self.names.index(name)), self.values)]

    def named(self) -> list[Values]:
        """Return each row as a dictionary."""
        return [dict(zip(self.names, row, strict=True)) for row in self.values]


def rows_of(rows: BulkRows | Sequence[Values]) -> BulkRows:
    """Return rows in bulk; dictionaries must have the same keys."""
    if isinstance(rows, BulkRows):
        return rows
    names = tuple(rows[0]) if rows else ()
    return BulkRows(names, [tuple([row[name] for name in names]) for row in rows])


def copy_pays(connection: Connection, rows: BulkRows) -> bool:
    """Tell whether to insert `rows` by COPY."""
    return connection.dialect.name == "postgresql" and len(rows.values) >= MANY


def insert_copied(
    connection: Connection,
    table: Table,
    rows: BulkRows,
    computed: Computed,
    on_conflict: "Callable[[postgresql.Insert], Insert]",
) -> int:
    """Insert the rows; return how many were written."""
    staged = _staged(table, rows.names, computed)
    connection.execute(CreateTable(staged, if_not_exists=True))
    copy_into(connection, staged, {name: rows.column(name) for name in rows.names})
    given = [column.key for column in table.columns if column.key in rows.names]
    values = [staged.c[name] for name in given] + [
        visitors.replacement_traverse(expression, {}, _from_row(staged))
        for expression in computed.values()
    ]
    from sqlalchemy.dialects import postgresql  # slow to import

    insert = postgresql.insert(table).from_select([*given, *computed], select(*values))
    counted = {"preserve_rowcount": True}  # else it is -1
    written = connection.execute(on_conflict(insert), execution_options=counted).rowcount
    connection.execute(text(f"TRUNCATE {staged.name}"))
    return written


def _staged(table: Table, names: Sequence[str], computed: Computed) -> Table:
    """Return the temporary table for rows with these names."""
    kinds: dict[str, TypeEngine[Any]] = {
        part.key: part.type
        for expression in computed.values()
        for part in visitors.iterate(expression)
        if isinstance(part, BindParameter)
    }
    kinds |= {column.key: column.type for column in table.columns}
    form = f"{table.name} {[(name, str(kinds[name])) for name in names]}"
    return Table(
        f"copied_{hashlib.sha256(form.encode()).hexdigest()[:16]}",
        MetaData(),
        *(Column(name, kinds[name]) for name in names),
        prefixes=["TEMPORARY"],
        postgresql_on_commit="DELETE ROWS",
    )


def _from_row(staged: Table) -> Callable[..., Any]:
    """Return a function that replaces a parameter by a column of `staged`."""

    def replace(part: Any, **_: Any) -> Any:
        if isinstance(part, BindParameter) and part.key in staged.c:
            return staged.c[part.key]
        return None

    return replace


def copy_into(connection: Connection, table: Table, columns: Mapping[str, Sequence[Any]]) -> None:
    """Append rows to a table of PostgreSQL."""
    dialect = connection.dialect
    quote = dialect.identifier_preparer.quote
    taken = [as_driver_takes(dialect, table.c[name].type, columns[name]) for name in columns]
    statement = f"COPY {quote(table.name)} ({', '.join(map(quote, columns))}) FROM STDIN"
    driver: Any = connection.connection.driver_connection
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            for row in zip(*taken, strict=True):
                copy.write_row(row)
    except dialect.loaded_dbapi.Error as error:
        # as `execute` raises it: callers distinguish a failed database from a wrong row by it
        raise DBAPIError.instance(
            statement, None, error, dialect.loaded_dbapi.Error, dialect=dialect
        ) from error


def as_driver_takes(dialect: Any, kind: TypeEngine[Any], values: Sequence[Any]) -> Sequence[Any]:
    """Return the values of a column as the driver takes them."""
    process = _prepares(dialect, kind)
    if process is None:
        return values
    known = {value: process(value) for value in {*values}}  # times repeat in a batch
    return [known[value] for value in values]


def as_driver_takes_rows(
    dialect: Any, kinds: Sequence[TypeEngine[Any]], rows: Sequence[Row]
) -> Sequence[Row]:
    """Return rows, whose columns are of these types, as the driver takes them."""
    if all(_prepares(dialect, kind) is None for kind in kinds):
        return rows
    columns = zip(*rows, strict=True)
    taken = [as_driver_takes(dialect, *of) for of in zip(kinds, columns, strict=True)]
    return [*zip(*taken, strict=True)]


def _prepares(dialect: Any, kind: TypeEngine[Any]) -> Callable[[Any], Any] | None:
    """Return how to convert a value, None: not at all; drivers take bytes as they are."""
    known = kind.dialect_impl(dialect)
    return None if isinstance(known, LargeBinary) else known.bind_processor(dialect)

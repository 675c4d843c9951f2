"""Many rows at once: how they are passed, and COPY into PostgreSQL.

Rows that are new go by COPY into their table. Others go by COPY into a temporary table, from which
one INSERT takes them: four times as fast as an INSERT with parameters. That table stays, empty, as
long as the session: a new one each time would fill the system catalogue.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, Boolean, Connection, Dialect, LargeBinary, Table, Text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.types import TypeEngine

from verdict.adapters.sql.column_types import InstantType

Values = dict[str, Any]
Row = tuple[Any, ...]
Conversions = Mapping[int, Callable[[Any], Any]]
"""By the number of a column, how its values are converted for the driver."""

MANY = 500  # rows, from which on COPY pays
BINARY: Mapping[type, str] = {  # types that need no text for each value
    Text: "text", BigInteger: "int8", Boolean: "bool", InstantType: "timestamptz",
    LargeBinary: "bytea",
}  # fmt: skip


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


def copy_into(connection: Connection, table: Table, rows: BulkRows) -> None:
    """Append rows to a table of PostgreSQL."""
    statement, types, conversions = _copying(connection.dialect, table, tuple(rows.names))
    driver: Any = connection.connection.driver_connection
    errors: Any = connection.dialect.loaded_dbapi
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            if types:
                copy.set_types(types)
            for row in converted(rows.values, conversions):
                copy.write_row(row)
    except (errors.Error, TypeError) as error:
        # as `execute` raises it: callers distinguish a failed database from a wrong row by it
        cause = errors.DataError(str(error)) if isinstance(error, TypeError) else error
        raise DBAPIError.instance(
            statement, None, cause, errors.Error, dialect=connection.dialect
        ) from error


@lru_cache(maxsize=256)
def _copying(
    dialect: Dialect, table: Table, names: tuple[str, ...]
) -> tuple[str, Sequence[str], Conversions]:
    """Return the statement, the types of the columns if it is binary, and the conversions."""
    quote = dialect.identifier_preparer.quote
    kinds = [table.c[name].type for name in names]
    types = [BINARY[type(kind)] for kind in kinds if type(kind) in BINARY]
    binary = len(types) == len(kinds)
    form = " (FORMAT BINARY)" if binary else ""
    statement = f"COPY {quote(table.name)} ({', '.join(map(quote, names))}) FROM STDIN{form}"
    return statement, types if binary else (), conversions_for(dialect, kinds)


def conversions_for(dialect: Dialect, kinds: Sequence[TypeEngine[Any]]) -> Conversions:
    """Return the conversions of columns of these types, which most do not need."""
    known = (kind.dialect_impl(dialect) for kind in kinds)
    found = {
        number: one.bind_processor(dialect)
        for number, one in enumerate(known)
        if not isinstance(one, LargeBinary)  # drivers take bytes as they are
    }
    return {number: convert for number, convert in found.items() if convert is not None}


def converted(rows: Sequence[Row], conversions: Conversions) -> Sequence[Row]:
    """Return rows as the driver takes them."""
    if not (rows and conversions):
        return rows
    columns: list[Sequence[Any]] = [*zip(*rows, strict=True)]
    for number, convert in conversions.items():
        known = {value: convert(value) for value in {*columns[number]}}  # times repeat in a batch
        columns[number] = [known[value] for value in columns[number]]
    return [*zip(*columns, strict=True)]

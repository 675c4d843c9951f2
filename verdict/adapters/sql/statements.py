"""The few statements whose form differs between databases, each one whatever the number of rows."""

from collections.abc import Container, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json
from sqlalchemy import (
    JSON,
    Column,
    ColumnElement,
    Connection,
    Insert,
    Table,
    Text,
    cast,
    func,
    literal,
    select,
)
from sqlalchemy.sql.compiler import SQLCompiler

from verdict.adapters.sql import copy
from verdict.adapters.sql.bulk import BulkRows, Values, rows_of

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite

    Upsert = sqlite.Insert | postgresql.Insert


def is_any_of(
    connection: Connection, column: Column[str], keys: Iterable[str]
) -> ColumnElement[bool]:
    """Return the condition that `column` is one of `keys`.

    The keys travel as one JSON array: a parameter each would run into SQLite's limit of 32,766,
    and would make a new statement of every number of keys.
    """
    array = to_json([*keys]).decode()
    if connection.dialect.name == "postgresql":
        texts = func.json_array_elements_text(cast(literal(array, Text), JSON))
        return column.in_(select(texts.column_valued("one_of_the_keys")))
    return column.in_(select(func.json_each(array).table_valued("value").c.value))


def exclude_others(connection: Connection, what: str) -> None:
    """Wait until nobody else is in a transaction that does `what`, and keep others out of it.

    On SQLite the transaction has kept all other writers out since it began.
    """
    if connection.dialect.name == "postgresql":
        key = func.hashtextextended(f"verdict {what}", 0)
        connection.execute(select(func.pg_advisory_xact_lock(key)))


def wait_for_locks(connection: Connection, seconds: float) -> None:
    """Give up a statement of this transaction that waits so long for who holds a lock.

    On SQLite no statement waits for another one once the transaction has begun.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.set_config("lock_timeout", f"{seconds * 1000:.0f}ms", True)))


def add_new(connection: Connection, table: Table, rows: BulkRows | Sequence[Values]) -> int:
    """Insert the rows whose primary key is not there yet; return how many those were."""
    given = rows_of(rows)
    if not given.values:
        return 0
    if copy.copy_pays(connection, given):
        return copy.insert_copied(
            connection, table, given, {}, lambda insert: insert.on_conflict_do_nothing()
        )
    insert = _insert(connection, table).on_conflict_do_nothing()
    return insert_each(connection, insert, given)


def append(connection: Connection, table: Table, rows: BulkRows | Sequence[Values]) -> None:
    """Insert the rows, none of which is there.

    Raises:
        IntegrityError: One is.
    """
    given = rows_of(rows)
    if copy.copy_pays(connection, given):
        copy.insert_copied(connection, table, given, {}, lambda insert: insert)
    elif given.values:
        insert_each(connection, _insert(connection, table), given)


def put(
    connection: Connection,
    table: Table,
    rows: BulkRows | Sequence[Values],
    computed: Mapping[str, ColumnElement[Any]] | None = None,
    but: Container[str] = (),
) -> None:
    """Insert the rows, or overwrite those with the same primary key."""
    given = rows_of(rows)
    if not given.values:
        return
    names = {*given.names, *(computed or {})} - set(table.primary_key.columns.keys())
    columns = [one.name for one in table.columns if one.name in names and one.name not in but]

    def overwriting(insert: "Upsert") -> Insert:
        overwritten = {name: insert.excluded[name] for name in columns}
        return insert.on_conflict_do_update(index_elements=[*table.primary_key], set_=overwritten)

    if copy.copy_pays(connection, given):
        copy.insert_copied(connection, table, given, computed or {}, overwriting)
    else:
        insert_each(connection, overwriting(_insert(connection, table, computed)), given)


def insert_each(connection: Connection, statement: Insert, rows: BulkRows) -> int:
    """Run an insert for all of `rows` at once; return how many it wrote.

    It is what `Connection.execute` does with a list, at a fraction of the cost: parameters are
    prepared column by column instead of row by row, and most columns not at all.
    """
    compiled = statement.compile(dialect=connection.dialect, column_keys=list(rows.names))
    assert isinstance(compiled, SQLCompiler)
    if compiled.positiontup is None:  # a driver that takes parameters by their names
        counted = {"preserve_rowcount": True}  # else an insert of many says -1
        return connection.execute(statement, rows.named(), execution_options=counted).rowcount
    kinds = [compiled.binds[name].type for name in compiled.positiontup]
    prepared = copy.as_driver_takes_rows(
        connection.dialect, kinds, rows.in_order(compiled.positiontup)
    )
    return connection.exec_driver_sql(str(compiled), prepared).rowcount


def _insert(
    connection: Connection, table: Table, computed: Mapping[str, ColumnElement[Any]] | None = None
) -> "Upsert":
    # of the one that is used, as the other takes long to import
    dialect = import_module(f"sqlalchemy.dialects.{connection.dialect.name}")
    insert: Upsert = dialect.insert(table)
    return insert.values(dict(computed)) if computed else insert

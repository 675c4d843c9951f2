"""Statements whose form differs between databases; each one for any number of rows."""

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

from verdict.adapters.sql.bulk import (
    BulkRows,
    Values,
    as_driver_takes_rows,
    copy_pays,
    insert_copied,
    rows_of,
)

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite

    Upsert = sqlite.Insert | postgresql.Insert


def is_any_of(
    connection: Connection, column: Column[str], keys: Iterable[str]
) -> ColumnElement[bool]:
    """Return the condition that `column` is one of `keys`.

    The keys are one JSON array: SQLite takes at most 32,766 parameters, and each number of
    parameters would be a new statement.
    """
    array = to_json([*keys]).decode()
    if connection.dialect.name == "postgresql":
        texts = func.json_array_elements_text(cast(literal(array, Text), JSON))
        return column.in_(select(texts.column_valued("one_of_the_keys")))
    return column.in_(select(func.json_each(array).table_valued("value").c.value))


def exclude_others(connection: Connection, what: str) -> None:
    """Wait until no other transaction does `what`; on SQLite there is only one writer."""
    if connection.dialect.name == "postgresql":
        key = func.hashtextextended(f"verdict {what}", 0)
        connection.execute(select(func.pg_advisory_xact_lock(key)))


def wait_for_locks(connection: Connection, seconds: float) -> None:
    """Let statements of this transaction give up after waiting so long for a lock.

    On SQLite no statement of a begun transaction waits.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.set_config("lock_timeout", f"{seconds * 1000:.0f}ms", True)))


def add_new(connection: Connection, table: Table, rows: BulkRows | Sequence[Values]) -> int:
    """Insert the rows whose primary key is new; return their number."""
    given = rows_of(rows)
    if not given.values:
        return 0
    if copy_pays(connection, given):
        return insert_copied(
            connection, table, given, {}, lambda insert: insert.on_conflict_do_nothing()
        )
    insert = _insert(connection, table).on_conflict_do_nothing()
    return insert_each(connection, insert, given)


def append(connection: Connection, table: Table, rows: BulkRows | Sequence[Values]) -> None:
    """Insert the rows; an IntegrityError says that one exists."""
    given = rows_of(rows)
    if copy_pays(connection, given):
        insert_copied(connection, table, given, {}, lambda insert: insert)
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

    if copy_pays(connection, given):
        insert_copied(connection, table, given, computed or {}, overwriting)
    else:
        insert_each(connection, overwriting(_insert(connection, table, computed)), given)


def insert_each(connection: Connection, statement: Insert, rows: BulkRows) -> int:
    """Run an insert for all of `rows` at once; return how many it wrote.

    `Connection.execute` prepares a list row by row; this prepares it by columns, which is faster.
    """
    compiled = statement.compile(dialect=connection.dialect, column_keys=list(rows.names))
    assert isinstance(compiled, SQLCompiler)
    if compiled.positiontup is None:  # a driver that takes parameters by name
        counted = {"preserve_rowcount": True}  # else it is -1
        return connection.execute(statement, rows.named(), execution_options=counted).rowcount
    kinds = [compiled.binds[name].type for name in compiled.positiontup]
    ordered = rows.in_order(compiled.positiontup)
    prepared = as_driver_takes_rows(connection.dialect, kinds, ordered)
    return connection.exec_driver_sql(str(compiled), prepared).rowcount


def _insert(
    connection: Connection, table: Table, computed: Mapping[str, ColumnElement[Any]] | None = None
) -> "Upsert":
    # only the one that is used: the other takes long to import
    dialect = import_module(f"sqlalchemy.dialects.{connection.dialect.name}")
    insert: Upsert = dialect.insert(table)
    return insert.values(dict(computed)) if computed else insert

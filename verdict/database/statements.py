"""The few statements whose form differs between databases, each one whatever the number of rows."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

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
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.compiler import SQLCompiler

from verdict.database import copying

Values = copying.Values
Upsert = sqlite.Insert | postgresql.Insert


def is_any_of(
    connection: Connection, column: Column[str], keys: Iterable[str]
) -> ColumnElement[bool]:
    """Return the condition that `column` is one of `keys`.

    The keys travel as one JSON array: a parameter each would run into SQLite's limit of 32,766,
    and would make a new statement of every number of keys.
    """
    array = json.dumps(list(keys))
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


def add_new(
    connection: Connection,
    table: Table,
    rows: Sequence[Values],
    computed: Mapping[str, ColumnElement[Any]] | None = None,
) -> int:
    """Insert the rows whose primary key is not there yet; return how many those were.

    Args:
        connection: Inside a transaction.
        table: With a primary key.
        rows: All with the same names: columns, and parameters of `computed`.
        computed: Columns whose value the database works out for each row, when those before it
            are written.
    """
    if not rows:
        return 0
    if not computed and copying.pays(connection, rows):
        return copying.insert_copied(
            connection, table, rows, {}, lambda insert: insert.on_conflict_do_nothing()
        )
    insert = _insert(connection, table, computed).on_conflict_do_nothing()
    return insert_each(connection, insert, rows)


def append(connection: Connection, table: Table, rows: Sequence[Values]) -> None:
    """Insert the rows, none of which is there.

    Raises:
        IntegrityError: One is.
    """
    if copying.pays(connection, rows):
        copying.insert_copied(connection, table, rows, {}, lambda insert: insert)
    elif rows:
        insert_each(connection, _insert(connection, table), rows)


def put(
    connection: Connection,
    table: Table,
    rows: Sequence[Values],
    computed: Mapping[str, ColumnElement[Any]] | None = None,
) -> None:
    """Insert the rows, or overwrite those with the same primary key.

    Args:
        connection: Inside a transaction.
        table: With a primary key.
        rows: With distinct primary keys and all with the same names: columns, and parameters of
            `computed`.
        computed: Columns whose value the database works out for each row, from other tables than
            this one.
    """
    if not rows:
        return
    given = {*rows[0], *(computed or {})} - set(table.primary_key.columns.keys())
    columns = [column.name for column in table.columns if column.name in given]

    def overwriting(insert: Upsert) -> Insert:
        overwritten = {name: insert.excluded[name] for name in columns}
        return insert.on_conflict_do_update(index_elements=[*table.primary_key], set_=overwritten)

    if copying.pays(connection, rows):
        copying.insert_copied(connection, table, rows, computed or {}, overwriting)
    else:
        insert_each(connection, overwriting(_insert(connection, table, computed)), rows)


def insert_each(connection: Connection, statement: Insert, rows: Sequence[Values]) -> int:
    """Run an insert for all of `rows` at once; return how many it wrote.

    It is what `Connection.execute` does with a list, at half the cost: parameters are prepared
    column by column instead of row by row.

    Args:
        connection: Inside a transaction.
        statement: Its only parameters are those that `rows` name.
        rows: At least one, all with the same names: columns, and parameters of expressions.
    """
    compiled = statement.compile(dialect=connection.dialect, column_keys=list(rows[0]))
    assert isinstance(compiled, SQLCompiler)
    if compiled.positiontup is None:  # a driver that takes parameters by their names
        counted = {"preserve_rowcount": True}  # else an insert of many says -1
        return connection.execute(statement, rows, execution_options=counted).rowcount
    columns = [
        copying.as_driver_takes(
            connection.dialect, compiled.binds[name].type, [row[name] for row in rows]
        )
        for name in compiled.positiontup
    ]
    return connection.exec_driver_sql(str(compiled), [*zip(*columns, strict=True)]).rowcount


def _insert(
    connection: Connection, table: Table, computed: Mapping[str, ColumnElement[Any]] | None = None
) -> Upsert:
    on_postgresql = connection.dialect.name == "postgresql"
    insert = postgresql.insert(table) if on_postgresql else sqlite.insert(table)
    return insert.values(dict(computed)) if computed else insert

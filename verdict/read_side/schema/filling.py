"""Fills a table that has no readers yet with many rows, and creates its indexes last."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table, insert
from sqlalchemy.sql.compiler import SQLCompiler

from verdict.adapters.sql.bulk import as_driver_takes, copy_into

Columns = Mapping[str, Sequence[Any]]


def drop_indexes(connection: Connection, table: Table) -> None:
    """Drop the indexes: it costs less to create them at the end."""
    for index in table.indexes:
        index.drop(connection, checkfirst=True)


def create_indexes(connection: Connection, table: Table) -> None:
    """Create the indexes."""
    for index in table.indexes:
        index.create(connection)


def fill_table(connection: Connection, table: Table, columns: Columns) -> None:
    """Append rows."""
    if not any(columns.values()):
        return
    if connection.dialect.name == "postgresql":
        copy_into(connection, table, columns)
        return
    # prepared column by column: `Connection.execute` would do so row by row
    compiled = insert(table).compile(dialect=connection.dialect, column_keys=[*columns])
    dialect = connection.dialect
    assert isinstance(compiled, SQLCompiler)
    names = compiled.positiontup or []
    values = [as_driver_takes(dialect, table.c[name].type, columns[name]) for name in names]
    connection.exec_driver_sql(str(compiled), [*zip(*values, strict=True)])

"""Indexes of a table that is filled before it has readers."""

from sqlalchemy import Connection, Table


def drop_indexes(connection: Connection, table: Table) -> None:
    """Drop the indexes: it costs less to create them at the end."""
    for index in table.indexes:
        index.drop(connection, checkfirst=True)


def create_indexes(connection: Connection, table: Table) -> None:
    """Create the indexes."""
    for index in table.indexes:
        index.create(connection)

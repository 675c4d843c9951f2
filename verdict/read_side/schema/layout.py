"""Where tables and views are, and which are ours.

The tables have a schema of their own on PostgreSQL, and a file of their own on SQLite. The views
are in `public`, where others have views too: the comments of ours have `verdict:` and a digest.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256

from sqlalchemy import TEXT, Connection, CreateView, MetaData, Table, Text, inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateSchema, DropTable

from verdict.adapters.sql.session import TABLES, VIEWS
from verdict.read_side.projections.documented_view import View, about_view, columns_of, query_of
from verdict.read_side.projections.stored_rows import CLUSTERED

MARK = re.compile(r"verdict:([0-9a-f]{16})")
ON_POSTGRESQL = """\
SELECT relname, coalesce(obj_description(pg_class.oid, 'pg_class'), '') FROM pg_class
JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = :schema AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S')"""
ON_SQLITE = "SELECT lower(name), sql FROM sqlite_master WHERE type IN ('table', 'view')"


class UnsuitableDatabaseError(Exception):
    """Others have what we need in the database, or a newer version has changed it."""


def taken(schema: str | None, names: Iterable[str], needed: str) -> UnsuitableDatabaseError:
    """Return the error about tables or views of others."""
    place = f"its schema {schema}" if schema else "this file"
    return UnsuitableDatabaseError(
        f"in {place} somebody else has made {', '.join(sorted(names))}, and verdict needs "
        f"{needed}: nothing was changed; rename or move that, or give verdict another database"
    )


def create_schema(connection: Connection) -> None:
    """Create the schema of the tables, where there are schemas and it is missing."""
    schema = tables_schema(connection)
    if schema is not None and not inspect(connection).has_schema(schema):
        connection.execute(CreateSchema(schema))


def table_names(connection: Connection) -> Collection[str]:
    return inspect(connection).get_table_names(schema=tables_schema(connection))


def has_table(connection: Connection, name: str) -> bool:
    return inspect(connection).has_table(name, schema=tables_schema(connection))


def column_names(connection: Connection, name: str) -> Sequence[str]:
    place = quoted(connection, tables_schema(connection), name)
    return [*connection.exec_driver_sql(f"SELECT * FROM {place} LIMIT 0").keys()]


def create_tables(connection: Connection, metadata: MetaData) -> None:
    """Create those tables of `metadata` that are missing.

    Texts are ordered by their code points, as on SQLite: so order, minimum and maximum are the same
    on both databases.
    """
    there, made = table_names(connection), MetaData()
    for table in metadata.sorted_tables:
        if table.name not in there:
            copy = qualified(connection, table, made)
            if CLUSTERED in table.info and connection.dialect.name == "sqlite":
                copy.dialect_options["sqlite"]["with_rowid"] = False
    made.create_all(connection, checkfirst=False)


def drop_indexes(connection: Connection, table: Table) -> None:
    """Drop the indexes of a table that is to be filled: it costs less to create them at the end."""
    for index in table.indexes:
        index.drop(connection, checkfirst=True)


def create_indexes(connection: Connection, table: Table) -> None:
    for index in table.indexes:
        index.create(connection)


def drop_tables(connection: Connection, tables: Iterable[Table]) -> None:
    for table in tables:
        copy = qualified(connection, table, MetaData())
        connection.execute(DropTable(copy, if_exists=True))


def qualified(connection: Connection, table: Table, among: MetaData) -> Table:
    """Return a copy of a table as this database has it: in its schema, texts by code points."""
    schema = tables_schema(connection)
    if schema is None:
        return table.to_metadata(among)
    copy = table.to_metadata(among, schema=schema)
    for column in copy.columns:
        if type(column.type) is Text:
            column.type = TEXT(collation="C")
    return copy


def put_views(connection: Connection, views: Mapping[str, View], renew: bool = True) -> None:
    """Create those views that are missing, and renew those that were made from something else."""
    there = _own_views(connection, [*views])
    for name, selected in views.items():
        if name not in there:
            _create(connection, name, selected)
        elif renew and there[name] != _mark(connection, name, selected):
            _renew(connection, name, selected)


def replace_view(connection: Connection, name: str, selected: View) -> None:
    """Drop a view and create it again, as its columns may differ; on PostgreSQL grants are lost."""
    _own_views(connection, [name])
    connection.exec_driver_sql(f"DROP VIEW {quoted(connection, views_schema(connection), name)}")
    _create(connection, name, selected)


def quoted(connection: Connection, place: str | None, name: str) -> str:
    """Return a name for SQL, with its schema or table `place` if it has one."""
    in_sql = connection.dialect.identifier_preparer.quote(name)
    return f"{place}.{in_sql}" if place else in_sql


def tables_schema(connection: Connection) -> str | None:
    return TABLES if _has_schemas(connection) else None


def views_schema(connection: Connection) -> str | None:
    return VIEWS if _has_schemas(connection) else None


def _has_schemas(connection: Connection) -> bool:
    return connection.dialect.name == "postgresql"


def _own_views(connection: Connection, names: Collection[str]) -> Mapping[str, str]:
    """Return the marks of those of `names` that are there."""
    schema = views_schema(connection)
    said = text(ON_SQLITE if schema is None else ON_POSTGRESQL)
    found = connection.execute(said, {} if schema is None else {"schema": schema})
    there = {name: MARK.search(comment or "") for name, comment in found if name in names}
    if foreign := [name for name, mark in there.items() if mark is None]:
        raise taken(schema, foreign, "that name for a view of its own")
    return {name: mark.group() for name, mark in there.items() if mark is not None}


def _renew(connection: Connection, name: str, selected: View) -> None:
    """Replace a view, on PostgreSQL so that views of others that use it stay, if it can."""
    if not _has_schemas(connection):
        replace_view(connection, name, selected)
        return
    try:
        with connection.begin_nested():
            _create(connection, name, selected, or_replace=True)
    except DBAPIError:
        if connection.invalidated:
            raise
        replace_view(connection, name, selected)  # its columns differ


def _create(connection: Connection, name: str, selected: View, or_replace: bool = False) -> None:
    mark = _mark(connection, name, selected)
    if not _has_schemas(connection):  # SQLite keeps a comment in the SQL of a view
        create, select = _sql(connection, name, selected).split(" AS ", 1)
        connection.exec_driver_sql(f"{create} AS /* {mark} */ {select}")
        return
    connection.execute(CreateView(query_of(selected), name, schema=VIEWS, or_replace=or_replace))
    about = f"{about_view(selected)} ({mark})".strip()
    connection.exec_driver_sql(_comments(connection, name, selected, about))


def _mark(connection: Connection, name: str, selected: View) -> str:
    made = _sql(connection, name, selected)
    if _has_schemas(connection):
        made += _comments(connection, name, selected, about_view(selected))
    return f"verdict:{sha256(made.encode()).hexdigest()[:16]}"


def _sql(connection: Connection, name: str, selected: View) -> str:
    return str(CreateView(query_of(selected), name).compile(dialect=connection.dialect))


def _comments(connection: Connection, name: str, view: View, about: str) -> str:
    place = quoted(connection, VIEWS, name)
    said = {f"VIEW {place}": about}
    said |= {f"COLUMN {quoted(connection, place, c.name)}": c.about for c in columns_of(view)}
    return "; ".join(f"COMMENT ON {what} IS {_literal(text)}" for what, text in said.items())


def _literal(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'" if text else "NULL"

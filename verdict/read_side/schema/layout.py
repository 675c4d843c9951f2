"""Where tables and views lie: on PostgreSQL the tables in a schema of their own.

Readers look into `public` and find the views there, and nothing that they cannot select from.
"""

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, CreateView, MetaData, Table, inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateSchema, DropTable

from verdict.adapters.sql import ownership
from verdict.adapters.sql.schema_names import TABLES, VIEWS
from verdict.read_side.projections.described import View, about_view, columns_of, query_of


def create_schema(connection: Connection) -> None:
    """Create the schema of the tables, where there are schemas and it is missing."""
    schema = tables_schema(connection)
    if schema is not None and not inspect(connection).has_schema(schema):
        connection.execute(CreateSchema(schema))
    ownership.begin_ownership(connection, schema)


def create_tables(connection: Connection, metadata: MetaData) -> None:
    """Create those tables of `metadata` that are missing.

    Texts are ordered by their code points, as SQLite does it: order, minimum and maximum are the
    same on both databases and do not depend on the language of the server.

    Raises:
        ForeignTableError: A name is taken.
    """
    schema = tables_schema(connection)
    there = ownership.own_tables(connection, schema, [one.name for one in metadata.sorted_tables])
    missing = [one for one in metadata.sorted_tables if one.name not in there]
    if not missing:
        return
    made = MetaData()
    for table in missing:
        ownership.qualified(table, made, schema)
    made.create_all(connection, checkfirst=False)
    ownership.note_relation(connection, schema, {table.name: "" for table in missing})


def drop_tables(connection: Connection, tables: Iterable[Table]) -> None:
    """Remove those that are there and ours."""
    schema = tables_schema(connection)
    for table in tables:
        if ownership.own_tables(connection, schema, [table.name]):
            connection.execute(DropTable(ownership.qualified(table, MetaData(), schema)))
            ownership.forget_relation(connection, [table.name])


def create_views(connection: Connection, views: Mapping[str, View]) -> None:
    """Create those views that are missing; those that are there show what they show.

    Raises:
        ForeignTableError: A name is taken.
    """
    there = ownership.own_tables(connection, views_schema(connection), [*views])
    for name, selected in views.items():
        if name not in there:
            _create(connection, name, selected)


def put_views(connection: Connection, views: Mapping[str, View]) -> None:
    """Create those views that are missing, and renew those that were made to show something else.

    Raises:
        ForeignTableError: A name is taken.
    """
    there = ownership.own_tables(connection, views_schema(connection), [*views])
    for name, selected in views.items():
        if name not in there:
            _create(connection, name, selected)
        elif there[name] != _definition(connection, name, selected):
            _renew(connection, name, selected)


def replace_view(connection: Connection, name: str, selected: View) -> None:
    """Let the view `name` show something else, from the commit on.

    On PostgreSQL it is dropped and created, as the columns may be others, which waits for those who
    read it just then. Who may select from it has to be said again: `reader_role.let_in`.

    Raises:
        ForeignTableError: It is not ours.
    """
    schema = views_schema(connection)
    ownership.own_tables(connection, schema, [name])
    connection.exec_driver_sql(f"DROP VIEW {quoted(connection, schema, name)}")
    _create(connection, name, selected)


def shown_by(connection: Connection, name: str) -> str | None:
    """Return the SQL of a view as the database keeps it; None where there is no such view."""
    if not _has_schemas(connection):
        found = text("SELECT sql FROM sqlite_master WHERE type = 'view' AND name = :name")
        kept: str | None = connection.scalar(found, {"name": name})
        return kept
    return _kept_by_postgresql(connection, quoted(connection, VIEWS, name))


def would_show(connection: Connection, name: str, selected: View) -> str | None:
    """Return the SQL that the database would keep of a view, were it made now; none is."""
    made = CreateView(query_of(selected), name, temporary=_has_schemas(connection))
    if not _has_schemas(connection):
        return str(made.compile(dialect=connection.dialect))
    with connection.begin_nested() as tried:
        connection.execute(made)
        kept = _kept_by_postgresql(connection, quoted(connection, "pg_temp", name))
        tried.rollback()
    return kept


def _kept_by_postgresql(connection: Connection, place: str) -> str | None:
    kept: str | None = connection.scalar(
        text("SELECT pg_get_viewdef(oid) FROM pg_class WHERE oid = to_regclass(:place)"),
        {"place": place},
    )
    return kept


def quoted(connection: Connection, place: str | None, name: str) -> str:
    """Return a name as it stands in SQL, with what it is in before it, if that has a name."""
    in_sql = connection.dialect.identifier_preparer.quote(name)
    return f"{place}.{in_sql}" if place else in_sql


def tables_schema(connection: Connection) -> str | None:
    """Return the schema of the tables, None where there are no schemas."""
    return TABLES if _has_schemas(connection) else None


def views_schema(connection: Connection) -> str | None:
    """Return the schema of the views, None where there are no schemas."""
    return VIEWS if _has_schemas(connection) else None


def _renew(connection: Connection, name: str, selected: View) -> None:
    """Replace a view, on PostgreSQL so that what others have built on it stays, if it can."""
    if not _has_schemas(connection):
        replace_view(connection, name, selected)
        return
    try:
        with connection.begin_nested():
            _create(connection, name, selected, or_replace=True)
    except DBAPIError:
        if connection.invalidated:
            raise
        replace_view(connection, name, selected)  # other columns than before


def _create(connection: Connection, name: str, selected: View, or_replace: bool = False) -> None:
    schema = views_schema(connection)
    made = CreateView(query_of(selected), name, schema=schema, or_replace=or_replace)
    connection.execute(made)
    if comments := _comments(connection, name, selected):
        connection.exec_driver_sql(comments)
    ownership.note_relation(connection, schema, {name: _definition(connection, name, selected)})


def _definition(connection: Connection, name: str, selected: View) -> str:
    made = str(CreateView(query_of(selected), name).compile(dialect=connection.dialect))
    return made + _comments(connection, name, selected)


def _comments(connection: Connection, name: str, view: View) -> str:
    """Return the SQL that says of a view what it says of itself, where a database keeps that."""
    if not _has_schemas(connection):
        return ""
    place = quoted(connection, VIEWS, name)
    said = {f"VIEW {place}": about_view(view)} | {
        f"COLUMN {quoted(connection, place, column.name)}": column.about
        for column in columns_of(view)
    }
    return "; ".join(f"COMMENT ON {what} IS {_literal(about)}" for what, about in said.items())


def _literal(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'" if text else "NULL"


def _has_schemas(connection: Connection) -> bool:
    return connection.dialect.name == "postgresql"

"""Where tables and views lie: on PostgreSQL the tables in a schema of their own.

Readers look into `public` and find the views there, and nothing that they cannot select from.
"""

from collections.abc import Mapping

from sqlalchemy import Connection, CreateView, MetaData, Text, inspect
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateSchema

from projections.engine.projection import View

TABLES = "projections"
VIEWS = "public"


def create_schema(connection: Connection) -> None:
    """Create the schema of the tables, where there are schemas and it is missing."""
    if _has_schemas(connection) and not inspect(connection).has_schema(TABLES):
        connection.execute(CreateSchema(TABLES))


def create_tables(connection: Connection, metadata: MetaData) -> None:
    """Create those tables of `metadata` that are missing.

    Texts are ordered by their code points, as SQLite does it: order, minimum and maximum are the
    same on both databases and do not depend on the language of the server.
    """
    if not _has_schemas(connection):
        metadata.create_all(connection)
        return
    placed = MetaData()
    for table in metadata.sorted_tables:
        for column in table.to_metadata(placed).columns:
            if type(column.type) is Text:
                column.type = postgresql.TEXT(collation="C")
    placed.create_all(connection)


def create_views(connection: Connection, views: Mapping[str, View]) -> None:
    """Create those views that are missing."""
    there = inspect(connection).get_view_names(schema=views_schema(connection))
    for name, selected in views.items():
        if name not in there:
            connection.execute(CreateView(selected, name, schema=views_schema(connection)))


def replace_view(connection: Connection, name: str, selected: View) -> None:
    """Let the view `name` show something else, from the commit on.

    On PostgreSQL it is dropped and created, as the columns may be others, which waits for those who
    read it just then. Who may select from it has to be said again: `reader_role.let_in`.
    """
    quote = connection.dialect.identifier_preparer.quote
    schema = views_schema(connection)
    place = f"{schema}.{quote(name)}" if schema else quote(name)
    connection.exec_driver_sql(f"DROP VIEW {place}")
    connection.execute(CreateView(selected, name, schema=schema))


def views_schema(connection: Connection) -> str | None:
    """Return the schema of the views, None where there are no schemas."""
    return VIEWS if _has_schemas(connection) else None


def _has_schemas(connection: Connection) -> bool:
    return connection.dialect.name == "postgresql"

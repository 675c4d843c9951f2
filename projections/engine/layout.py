"""Where tables and views lie: on PostgreSQL the tables in a schema of their own.

Readers look into `public` and find the views there, and nothing that they cannot select from.
"""

from collections.abc import Iterable, Mapping

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


def drop_views(connection: Connection, names: Iterable[str]) -> None:
    """Remove views, to create them again over other tables."""
    quote = connection.dialect.identifier_preparer.quote
    schema = views_schema(connection)
    for name in names:
        place = quote(name) if schema is None else f"{schema}.{quote(name)}"
        connection.exec_driver_sql(f"DROP VIEW {place}")


def views_schema(connection: Connection) -> str | None:
    """Return the schema of the views, None where there are no schemas."""
    return VIEWS if _has_schemas(connection) else None


def _has_schemas(connection: Connection) -> bool:
    return connection.dialect.name == "postgresql"

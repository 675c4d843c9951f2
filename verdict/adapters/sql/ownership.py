"""Which tables and views in the database are ours: a name alone says nothing.

What we make is written down together with its identity, so a table or view that somebody else made
under one of our names is never taken for ours, nor touched.
"""

import re
from collections.abc import Collection, Iterable, Mapping

from sqlalchemy import (
    TEXT,
    Column,
    Connection,
    MetaData,
    Table,
    Text,
    delete,
    inspect,
    select,
    text,
)

from verdict.adapters.sql.statements import put

metadata = MetaData()
table = Table(
    "verdict_relation_v1",
    metadata,
    Column("name", Text, primary_key=True),
    Column("identity", Text, nullable=False),
    Column("definition", Text, nullable=False),  # of a view, as we made it
)

# an object keeps its oid through all changes of it, and a new one under its name has another
ON_POSTGRESQL = """\
SELECT relname, CAST(pg_class.oid AS text) FROM pg_class
JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = :schema AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S')"""
ON_SQLITE = """\
SELECT lower(name), CASE type WHEN 'view' THEN sql ELSE type END FROM sqlite_master
WHERE type IN ('table', 'view')"""

# views that were made before this was written down read our tables, and nobody else's do
READ_OURS = """\
SELECT DISTINCT view_name FROM information_schema.view_table_usage
WHERE view_schema = :views AND table_schema = :tables"""


class ForeignTableError(Exception):
    """Names that we need are taken by tables or views that we did not make."""

    def __init__(self, schema: str | None, names: Iterable[str]) -> None:
        place = f"its schema {schema}" if schema else "this file"
        super().__init__(
            f"in {place} somebody else has made {', '.join(sorted(names))}, which verdict needs "
            "for a table or view of its own: it was not touched; rename it, or give verdict "
            "another database"
        )


def begin_ownership(connection: Connection, schema: str | None) -> None:
    """Make the list of what is ours where it is missing, and mend one that was restored."""
    if not inspect(connection).has_table(table.name, schema=schema):
        qualified(table, MetaData(), schema).create(connection)
        note_relation(connection, schema, {table.name: ""})


def qualified(made: Table, among: MetaData, schema: str | None) -> Table:
    """Return a copy of a table in `schema`, or as it is where there are none.

    In a schema its texts are ordered by their code points, as they are where there are none.
    """
    if schema is None:
        return made.to_metadata(among)
    copy = made.to_metadata(among, schema=schema)
    collate(copy)
    return copy


def collate(made: Table) -> None:
    """Let the texts of a table on PostgreSQL be ordered by their code points."""
    for column in made.columns:
        if type(column.type) is Text:
            column.type = TEXT(collation="C")


def exists(connection: Connection, schema: str | None, name: str) -> bool:
    """Tell whether there is a table or view of that name, whoever made it."""
    return name in _there(connection, schema)


def own_tables(
    connection: Connection, schema: str | None, names: Collection[str]
) -> Mapping[str, str]:
    """Return which of `names` are there, with the definitions of those that are views.

    Raises:
        ForeignTableError: One is there and was not made by us.
    """
    there = _there(connection, schema)
    known = {name: (identity, made) for name, identity, made in connection.execute(select(table))}
    foreign = {one for one in there.keys() & {*names} if known.get(one, ("",))[0] != there[one]}
    if foreign:
        raise ForeignTableError(schema, foreign)
    return {name: known[name][1] for name in names if name in there}


def versions_of(connection: Connection, schema: str | None, base: str) -> list[str]:
    """Return the names of all versions of a table that are there and ours.

    Raises:
        ForeignTableError: One is there and was not made by us.
    """
    numbered = re.compile(rf"{re.escape(base)}_v\d+")
    names = [name for name in _there(connection, schema) if numbered.fullmatch(name)]
    return [*own_tables(connection, schema, names)]


def note_relation(connection: Connection, schema: str | None, made: Mapping[str, str]) -> None:
    """Write down that we made these, each with its definition."""
    there = _there(connection, schema)
    rows = [
        {"name": name, "identity": there[name], "definition": definition}
        for name, definition in made.items()
    ]
    put(connection, table, rows)


def forget_relation(connection: Connection, names: Collection[str]) -> None:
    """Write down that we dropped these."""
    connection.execute(delete(table).where(table.c.name.in_(names)))


def adopt_relations(connection: Connection, tables: str | None, views: str | None) -> None:
    """Take for ours what was made before anybody wrote it down, or elsewhere and restored here."""
    known = {name: made for name, _, made in connection.execute(select(table))}
    note_relation(
        connection, tables, {name: known.get(name, "") for name in _there(connection, tables)}
    )
    if views is not None:
        found = connection.execute(text(READ_OURS), {"views": views, "tables": tables}).scalars()
        note_relation(connection, views, {name: known.get(name, "") for name in found})


def was_restored(connection: Connection, schema: str | None) -> bool:
    """Tell whether all of this came out of a backup, in which everything has a new identity."""
    known = connection.scalar(select(table.c.identity).where(table.c.name == table.name))
    return known != _there(connection, schema)[table.name]


def _there(connection: Connection, schema: str | None) -> Mapping[str, str]:
    if schema is None:
        found = connection.execute(text(ON_SQLITE))
    else:
        found = connection.execute(text(ON_POSTGRESQL), {"schema": schema})
    return {str(name): str(identity) for name, identity in found}

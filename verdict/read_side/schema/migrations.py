"""How tables that cannot be built again are brought to the form of a newer verdict.

A changed projection gets another version with tables of its own. What is kept for good
(`event_archive`, dead letters, interventions, outbox) and the engine's own tables are altered where
they are: change the `Table` and append a migration that does the same to an existing database.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, Column, Connection, MetaData, Table, Text, select
from sqlalchemy.schema import CreateColumn

from verdict.adapters.sql.statements import add_new
from verdict.read_side.schema import layout
from verdict.read_side.tables.columns import primary, required

metadata = MetaData()
table = Table(
    "verdict_migration_v1",
    metadata,
    primary("number", BigInteger),
    required("name", Text),
)


class Migration(NamedTuple):
    """A step from one form to the next.

    `run` gets a connection in the transaction of all steps. It uses the names of tables and columns
    at that time, not today's code. A table may be missing: it is created in today's form later.
    """

    name: str
    run: Callable[[Connection], None]


class NewerDatabaseError(Exception):
    """The database was brought to a form that this version of verdict does not know."""

    def __init__(self, number: int, name: str, known: int) -> None:
        super().__init__(
            f"a newer version of verdict has changed it (migration {number}, {name!r}; this "
            f"version knows {known}): run that one, or restore the copy from before the upgrade"
        )


MIGRATIONS: Sequence[Migration] = ()  # append only; their numbers are their places, from 1


def bring_forward(connection: Connection, known: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the tables to today's form, inside the transaction of `connection`."""
    layout.create_schema(connection)
    missing = _missing(connection, known)
    if missing is None:
        if foreign := layout.table_names(connection):
            schema = layout.tables_schema(connection)
            raise layout.ForeignTableError(schema, foreign, "a place for its tables alone")
        layout.create_tables(connection, metadata)
    else:
        for migration in missing:
            migration.run(connection)
    numbers = range(1, len(known) + 1)
    rows = [{"number": n, "name": one.name} for n, one in zip(numbers, known, strict=True)]
    add_new(connection, table, rows)


def is_behind(connection: Connection, known: Sequence[Migration] = MIGRATIONS) -> bool:
    """Tell whether our tables are there in an earlier form."""
    return bool(_missing(connection, known))


def _missing(connection: Connection, known: Sequence[Migration]) -> Sequence[Migration] | None:
    """Return the migrations that are to be run; None if none of our tables exists."""
    if not layout.has_table(connection, table.name):
        return None
    latest = select(table.c.number, table.c.name).order_by(table.c.number.desc()).limit(1)
    number, name = connection.execute(latest).first() or (0, "")
    if number > len(known):
        raise NewerDatabaseError(number, name, len(known))
    return known[number:]


def add_column(connection: Connection, name: str, column: Column[Any]) -> None:
    """Add a column to the table `name`, unless the table is missing and will be made with it."""
    if not layout.has_table(connection, name):
        return
    altered = layout.qualified(connection, Table(name, MetaData(), column), MetaData())
    place = connection.dialect.identifier_preparer.format_table(altered)
    added = CreateColumn(altered.columns[column.name]).compile(dialect=connection.dialect)
    connection.exec_driver_sql(f"ALTER TABLE {place} ADD COLUMN {added}")

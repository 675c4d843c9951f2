"""How tables that cannot be built again are brought to the form of a newer verdict.

A changed projection gets another version with tables of its own. The engine's own tables and
`event_archive` are altered: change the `Table`, and append a migration that does the same.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlalchemy import BigInteger, Connection, MetaData, Table, Text, select

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
    at that time, not today's code. A missing table is created in today's form later.
    """

    name: str
    run: Callable[[Connection], None]


MIGRATIONS: Sequence[Migration] = ()  # append only; their numbers are their places, from 1


def bring_forward(connection: Connection, known: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the tables to today's form, inside the transaction of `connection`."""
    layout.create_schema(connection)
    missing = _missing(connection, known)
    if missing is None:
        if foreign := layout.table_names(connection):
            schema = layout.tables_schema(connection)
            raise layout.taken(schema, foreign, "a place for its tables alone")
        layout.create_tables(connection, metadata)
    for migration in missing or ():
        migration.run(connection)
    rows = [{"number": number, "name": one.name} for number, one in enumerate(known, 1)]
    add_new(connection, table, rows)


def is_behind(connection: Connection, known: Sequence[Migration] = MIGRATIONS) -> bool:
    return bool(_missing(connection, known))


def _missing(connection: Connection, known: Sequence[Migration]) -> Sequence[Migration] | None:
    """Return the migrations that are to be run; None if none of our tables exists."""
    if not layout.has_table(connection, table.name):
        return None
    latest = select(table.c.number, table.c.name).order_by(table.c.number.desc()).limit(1)
    number, name = connection.execute(latest).first() or (0, "")
    if number > len(known):
        raise layout.UnsuitableDatabaseError(
            f"a newer version of verdict has changed it (migration {number}, {name!r}; this "
            f"version knows {len(known)}): run that one, or restore the copy from before the "
            "upgrade"
        )
    return known[number:]

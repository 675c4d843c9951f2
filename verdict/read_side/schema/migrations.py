"""How tables that cannot be built again get from the form of one version of verdict to the next.

Read models need none of this: a changed one gets another version, with tables of its own. What is
kept for ever (`event_archive`, letters, what people decided, outbox) and the engine's own tables
are altered where they are. To change one of them, change its `Table` and append a migration that
does the same to a database that has it already; `layout.put_views` renews the views by itself.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, Column, Connection, MetaData, Table, Text, func, select
from sqlalchemy.schema import CreateColumn

from verdict.adapters.sql import ownership
from verdict.adapters.sql.statements import add_new
from verdict.read_side.schema import layout

metadata = MetaData()
table = Table(
    "verdict_migration_v1",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
)

# one of these is in every database that has tables of ours
FIRST_TABLES = ("projection_version_v1", "projection_live_v1", "outbox_batch_v1")


class Migration(NamedTuple):
    """A step from one form to the next.

    `run` gets a connection in the transaction of all steps. It knows tables by their names and
    columns of that time, not by those of today's code; and a table may be missing, as it will be
    made in today's form then.
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


def _adopt(connection: Connection) -> None:
    tables, views = layout.tables_schema(connection), layout.views_schema(connection)
    ownership.adopt_relations(connection, tables, views)


# append only; their numbers are their places, from 1
MIGRATIONS: Sequence[Migration] = (Migration("list the tables and views that are ours", _adopt),)


def bring_forward(connection: Connection, known: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring what is there to the form of today, inside the transaction of `connection`.

    Raises:
        NewerDatabaseError: It is of a later form already.
    """
    is_behind(connection, known)
    layout.create_schema(connection)
    schema = layout.tables_schema(connection)
    has_tables = _has_tables(connection)
    if ownership.was_restored(connection, schema):
        _adopt(connection)
    layout.create_tables(connection, metadata)
    done = connection.scalar(select(func.max(table.c.number))) or 0
    for number, migration in enumerate(known[done:], done + 1):
        if has_tables:
            migration.run(connection)
        add_new(connection, table, [{"number": number, "name": migration.name}])


def is_behind(connection: Connection, known: Sequence[Migration] = MIGRATIONS) -> bool:
    """Tell whether tables of ours are there, in a form of before or out of a backup.

    Raises:
        NewerDatabaseError: In one that is later than we know.
    """
    schema = layout.tables_schema(connection)
    if not ownership.exists(connection, schema, table.name):
        return _has_tables(connection)
    latest = select(table.c.number, table.c.name).order_by(table.c.number.desc()).limit(1)
    for number, name in connection.execute(latest):
        if number > len(known):
            raise NewerDatabaseError(number, name, len(known))
        return bool(number < len(known)) or ownership.was_restored(connection, schema)
    return True


def _has_tables(connection: Connection) -> bool:
    """Tell whether somebody has made tables of ours, numbered or not."""
    schema = layout.tables_schema(connection)
    return any(ownership.exists(connection, schema, name) for name in FIRST_TABLES)


def add_column(connection: Connection, name: str, column: Column[Any]) -> None:
    """Add a column to the table `name`, unless the table is missing and will be made with it."""
    schema = layout.tables_schema(connection)
    if not ownership.own_tables(connection, schema, [name]):
        return
    altered = Table(name, MetaData(), column, schema=schema)
    if schema is not None:
        ownership.collate(altered)
    place = connection.dialect.identifier_preparer.format_table(altered)
    added = CreateColumn(altered.columns[column.name]).compile(dialect=connection.dialect)
    connection.exec_driver_sql(f"ALTER TABLE {place} ADD COLUMN {added}")


def add_index(connection: Connection, base: str, ending: str, *expressions: str) -> None:
    """Add an index to each version of a table that is there; the others will be made with it."""
    schema = layout.tables_schema(connection)
    for name in ownership.versions_of(connection, schema, base):
        index = layout.quoted(connection, None, f"{name}_{ending}")
        connection.exec_driver_sql(
            f"CREATE INDEX IF NOT EXISTS {index} ON {layout.quoted(connection, schema, name)} "
            f"({', '.join(expressions)})"
        )

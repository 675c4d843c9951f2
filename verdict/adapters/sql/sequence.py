"""Sequences without gaps, whose numbers become visible in their order."""

from sqlalchemy import BigInteger, Column, Connection, MetaData, Table, Text, select, update

from verdict.adapters.sql.statements import add_new

metadata = MetaData()
table = Table(
    "projection_sequence_v1",
    metadata,
    Column("name", Text, primary_key=True),
    Column("last", BigInteger, nullable=False),
)


def begin_sequence(connection: Connection, name: str) -> None:
    """Make sure that the sequence `name` exists; a new one gives 1 first."""
    add_new(connection, table, [{"name": name, "last": 0}])


def last_number(connection: Connection, name: str) -> int:
    """Return the number that the sequence `name` gave last, 0 if none."""
    given = select(table.c.last).where(table.c.name == name)
    return connection.scalar(given) or 0


def take_numbers(connection: Connection, name: str, count: int) -> range:
    """Return the next `count` numbers of the sequence `name`.

    A lock is held to the commit, so take them after all reads and folds, right before the inserts.
    """
    statement = (
        update(table)
        .where(table.c.name == name)
        .values(last=table.c.last + count)
        .returning(table.c.last)
    )
    reached: int = connection.execute(statement).scalar_one()
    return range(reached - count + 1, reached + 1)

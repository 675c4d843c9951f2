"""How far a projection has come: the truth, in the same transaction as its rows."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    MetaData,
    Select,
    Table,
    Text,
    case,
    delete,
    func,
    select,
    update,
)

from verdict.adapters.sql import statements
from verdict.adapters.sql.statements import put
from verdict.wire.partitions import TopicPartition

metadata = MetaData()
table = Table(
    "projection_position_v1",
    metadata,
    Column("projection", Text, primary_key=True),
    Column("version", BigInteger, primary_key=True),
    Column("topic", Text, primary_key=True),
    Column("partition", BigInteger, primary_key=True),
    Column("next_offset", BigInteger, nullable=False),
)

Positions = dict[TopicPartition, int]


class Consumer(Protocol):
    """Who has a position: a projection, or what else follows topics into the database."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...


class ConcurrentProjectionError(Exception):
    """Somebody else advances this projection; what was about to be written is rolled back.

    `set_back` says that nobody does: it stands where it was before, as in another database.
    """

    def __init__(self, projection: Consumer, loaded: Positions, found: Positions) -> None:
        place = min(place for place, _ in loaded.items() ^ found.items())
        self.set_back = all(offset <= loaded.get(one, 0) for one, offset in found.items())
        who, remedy = (
            ("somebody has set back", "was another database put in the place of this one?")
            if self.set_back
            else ("another runner advances", "let only one of them run")
        )
        super().__init__(
            f"{who} projection {projection.name} v{projection.version}: "
            f"{place} was at offset {loaded.get(place, 0)} and is at "
            f"{found.get(place, 0)}; nothing of this batch was written here: {remedy}"
        )


def is_of(projection: Consumer, among: Table) -> ColumnElement[bool]:
    """Return the condition that a row of a table is of this version of a projection."""
    return (among.c.projection == projection.name) & (among.c.version == projection.version)


def load(connection: Connection, projection: Consumer) -> Positions:
    """Return the next offset of every partition that `projection` has read from."""
    statement = select(table.c.topic, table.c.partition, table.c.next_offset).where(
        is_of(projection, table)
    )
    return _positions(connection, statement)


def furthest(connection: Connection) -> Positions:
    """Return the greatest next offset of every partition that anybody has read from."""
    reached = func.max(table.c.next_offset)
    statement = select(table.c.topic, table.c.partition, reached).group_by(
        table.c.topic, table.c.partition
    )
    return _positions(connection, statement)


def _positions(connection: Connection, statement: Select[Any]) -> Positions:
    rows = connection.execute(statement)
    return {TopicPartition(topic, number): offset for topic, number, offset in rows}


def exclude_others(connection: Connection, projection: Consumer) -> None:
    """Wait until nobody else changes this projection, and keep others out up to the commit."""
    what = f"projection {projection.name} v{projection.version}"
    statements.exclude_others(connection, what)


def advance(
    connection: Connection,
    projection: Consumer,
    loaded: Positions,
    ends: Mapping[TopicPartition, int],
) -> Positions:
    """Move the position from `loaded` to `ends` and return it as it is then.

    All partitions are compared, moved or not: a group's rows depend on all of them, so two runners
    must exclude each other even when their batches share none. Until the commit nobody else gets
    past this.

    Raises:
        ConcurrentProjectionError: The position is not what was loaded.
    """
    exclude_others(connection, projection)
    found = load(connection, projection)
    if found != loaded:
        raise ConcurrentProjectionError(projection, loaded, found)
    identity = {"projection": projection.name, "version": projection.version}
    moved = [{**identity, **place._asdict(), "next_offset": ends[place]} for place in sorted(ends)]
    put(connection, table, moved)
    return loaded | dict(ends)


def every(connection: Connection) -> list[tuple[str, int, TopicPartition, int]]:
    """Return who has read which partition up to where: name, version, partition, next offset."""
    of = table.c
    rows = connection.execute(
        select(of.projection, of.version, of.topic, of.partition, of.next_offset)
    )
    return [(name, version, TopicPartition(*place), at) for name, version, *place, at in rows]


def move(connection: Connection, place: TopicPartition, to: Callable[[int], int]) -> None:
    """Let everybody who has read a partition go on at another offset."""
    here = (table.c.topic == place.topic) & (table.c.partition == place.partition)
    offsets = connection.scalars(select(table.c.next_offset).where(here).distinct()).all()
    # each row once: a row that has moved must not be taken for one that has to
    moved = case({offset: to(offset) for offset in offsets}, value=table.c.next_offset)
    if offsets:
        connection.execute(update(table).where(here).values(next_offset=moved))


def forget(connection: Connection, projection: Consumer) -> None:
    """Remove how far it came, for a version that is dropped."""
    statement = delete(table).where(is_of(projection, table))
    connection.execute(statement)

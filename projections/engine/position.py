"""How far a projection has come: the truth, in the same transaction as its rows."""

from collections.abc import Mapping

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    MetaData,
    Table,
    Text,
    bindparam,
    delete,
    select,
    update,
)

from projections.engine.batch import Partition
from projections.engine.projection import Projection
from projections.engine.statements import add_new

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

Positions = dict[Partition, int]


class AnotherRunner(Exception):
    """Somebody else advances this projection; what was about to be written is rolled back."""

    def __init__(self, projection: Projection, loaded: Positions, found: Positions) -> None:
        place = next((place for place in sorted(loaded) if found.get(place) != loaded[place]), None)
        moved = (
            f"{place.topic}:{place.partition} was at offset {loaded[place]} and is at "
            f"{found.get(place)}"
            if place
            else "its position was moved meanwhile"
        )
        super().__init__(
            f"another runner advances projection {projection.name} v{projection.version}: {moved}; "
            "nothing of this batch was written here: let only one of them run"
        )


def load(connection: Connection, projection: Projection) -> Positions:
    """Return the next offset of every partition that `projection` has read from."""
    statement = select(table.c.topic, table.c.partition, table.c.next_offset).where(
        table.c.projection == projection.name, table.c.version == projection.version
    )
    return {
        Partition(topic, number): offset for topic, number, offset in connection.execute(statement)
    }


def advance(
    connection: Connection,
    projection: Projection,
    loaded: Positions,
    ends: Mapping[Partition, int],
) -> Positions:
    """Move the position from `loaded` to `ends` and return it as it is then.

    Every partition's row is compared and set, moved or not: a group's rows depend on all
    partitions, so two runners must exclude each other even when their batches share none. Their
    locks are held to the commit.

    Raises:
        AnotherRunner: The position is not what was loaded.
    """
    identity = {"projection": projection.name, "version": projection.version}
    new = [
        {**identity, **place._asdict(), "next_offset": 0} for place in ends if place not in loaded
    ]
    add_new(connection, table, new)
    before = dict.fromkeys(ends, 0) | loaded
    after = before | dict(ends)
    statement = (
        update(table)
        .where(
            table.c.projection == projection.name,
            table.c.version == projection.version,
            table.c.topic == bindparam("of_topic"),
            table.c.partition == bindparam("of_partition"),
            table.c.next_offset == bindparam("loaded"),
        )
        .values(next_offset=bindparam("reached"))
    )
    moves = [
        {
            "of_topic": place.topic,
            "of_partition": place.partition,
            "loaded": before[place],
            "reached": after[place],
        }
        for place in sorted(after)
    ]
    if moves and connection.execute(statement, moves).rowcount != len(moves):
        raise AnotherRunner(projection, before, load(connection, projection))
    return after


def forget(connection: Connection, projection: Projection) -> None:
    """Remove how far it came, for a version that is dropped."""
    statement = delete(table).where(
        table.c.projection == projection.name, table.c.version == projection.version
    )
    connection.execute(statement)

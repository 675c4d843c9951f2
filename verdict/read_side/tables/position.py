"""Positions of projections, committed in the same transaction as their rows."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
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
from verdict.adapters.sql.bulk import BulkRows
from verdict.adapters.sql.statements import put
from verdict.read_side.tables.columns import metadata, primary, required
from verdict.wire.partitions import PartitionOffsets, TopicPartition

table = Table(
    "projection_position_v1",
    metadata,
    primary("projection", Text, "Name of the projection."),
    primary("version", BigInteger, "Version of the projection's tables."),
    primary("topic", Text, "Topic in Kafka."),
    primary("partition", BigInteger, "Partition of the topic."),
    required("next_offset", BigInteger, "The first offset that it has not applied."),
)


class Consumer(Protocol):
    """What has a position: a projection, or another consumer that writes to the database."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...


class ConcurrentProjectionError(Exception):
    """Another process moved the position; the transaction is rolled back.

    With `set_back` it moved backwards, as if another database had been put in place.
    """

    def __init__(
        self, projection: Consumer, loaded: PartitionOffsets, found: PartitionOffsets
    ) -> None:
        place = min(place for place, _ in loaded.items() ^ found.items())
        self.set_back = all(offset <= loaded.get(one, 0) for one, offset in found.items())
        who, remedy = "another runner advances", "let only one of them run"
        if self.set_back:
            who, remedy = "somebody has set back", "was this database replaced by another one?"
        super().__init__(
            f"{who} projection {projection.name} v{projection.version}: "
            f"{place} was at offset {loaded.get(place, 0)} and is at "
            f"{found.get(place, 0)}; nothing of this batch was written here: {remedy}"
        )


def is_of(projection: Consumer, among: Table) -> ColumnElement[bool]:
    return (among.c.projection == projection.name) & (among.c.version == projection.version)


def load(connection: Connection, projection: Consumer) -> PartitionOffsets:
    """Return the next offset of every partition that `projection` has read from."""
    columns = table.c.topic, table.c.partition, table.c.next_offset
    return _positions(connection, select(*columns).where(is_of(projection, table)))


def furthest(connection: Connection) -> PartitionOffsets:
    """Return the greatest next offset of every partition that any consumer has read."""
    place = table.c.topic, table.c.partition
    reached = select(*place, func.max(table.c.next_offset)).group_by(*place)
    return _positions(connection, reached)


def _positions(connection: Connection, statement: Select[Any]) -> PartitionOffsets:
    rows = connection.execute(statement)
    return {TopicPartition(topic, number): offset for topic, number, offset in rows}


def exclude_others(connection: Connection, projection: Consumer) -> None:
    """Wait for others that change this projection, and keep them out up to the commit."""
    statements.exclude_others(connection, f"projection {projection.name} v{projection.version}")


def advance(
    connection: Connection,
    projection: Consumer,
    loaded: PartitionOffsets,
    ends: Mapping[TopicPartition, int],
) -> PartitionOffsets:
    """Move the position from `loaded` to `ends` and return it; others wait up to the commit.

    All partitions are compared, moved or not: a group's rows depend on all of them, so two runners
    must exclude each other even when their batches share none.
    """
    exclude_others(connection, projection)
    found = load(connection, projection)
    if found != loaded:
        raise ConcurrentProjectionError(projection, loaded, found)
    moved = [(projection.name, projection.version, *place, ends[place]) for place in sorted(ends)]
    put(connection, table, BulkRows(table.columns.keys(), moved))
    return {**loaded, **ends}


def every(connection: Connection) -> list[tuple[str, int, TopicPartition, int]]:
    """Return all positions: consumer's name, its version, partition, next offset."""
    rows = connection.execute(select(table))
    return [(name, version, TopicPartition(*place), at) for name, version, *place, at in rows]


def move(connection: Connection, place: TopicPartition, to: Callable[[int], int]) -> None:
    here = (table.c.topic == place.topic) & (table.c.partition == place.partition)
    offsets = connection.scalars(select(table.c.next_offset).where(here).distinct()).all()
    # in one statement, as a new offset may equal the old one of another row
    moved = case({offset: to(offset) for offset in offsets}, value=table.c.next_offset)
    if offsets:
        connection.execute(update(table).where(here).values(next_offset=moved))


def forget(connection: Connection, projection: Consumer) -> None:
    connection.execute(delete(table).where(is_of(projection, table)))

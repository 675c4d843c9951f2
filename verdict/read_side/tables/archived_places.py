"""Archived events by their places in Kafka, and the correction of places that changed."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, MetaData, bindparam, select, update

from verdict.read_side.projections.builtin.event_archive import archive_table
from verdict.read_side.tables.restoration import EventPlace
from verdict.wire.partitions import TopicPartition

ARCHIVE = archive_table(MetaData())
PAGE = 1_000


class ArchivedBytes(NamedTuple):
    """An archived event with its bytes."""

    aggregate_type: str
    aggregate_id: str
    version: int
    offset: int
    value: bytes
    hash: str


def newest_first(connection: Connection, place: TopicPartition) -> Iterator[list[EventPlace]]:
    """Yield the archived events of a partition, page by page, from the end backwards."""
    columns, end = ARCHIVE.c, None
    wanted = select(
        columns.aggregate_type, columns.aggregate_id, columns.version, columns.hash, columns.offset
    ).where(_of(place))
    while True:
        page = wanted if end is None else wanted.where(columns.offset < end)
        rows = connection.execute(page.order_by(columns.offset.desc()).limit(PAGE)).all()
        if not rows:
            return
        yield [EventPlace((row[0], row[1], row[2]), row.hash, row.offset) for row in rows]
        end = rows[-1].offset


def stored_from(
    connection: Connection, place: TopicPartition, start: int
) -> Iterator[ArchivedBytes]:
    """Yield the archived events of a partition from an offset on, with their bytes."""
    columns = (ARCHIVE.c[name] for name in ArchivedBytes._fields)
    wanted = select(*columns).where(_of(place)).order_by(ARCHIVE.c.offset).limit(PAGE)
    while rows := connection.execute(wanted.where(ARCHIVE.c.offset >= start)).all():
        yield from map(ArchivedBytes._make, rows)
        start = rows[-1].offset + 1


def move(connection: Connection, place: TopicPartition, moved: Mapping[int, int]) -> None:
    """Give archived events of a partition other offsets: the new one by the old one."""
    if not moved:
        return
    offset = ARCHIVE.c.offset
    away = update(ARCHIVE).where(_of(place), offset == bindparam("old"))
    connection.execute(away.values(offset=-1 - offset), [{"old": old} for old in moved])
    # negative until here, as an old offset of one event may be the new one of another
    back = update(ARCHIVE).where(_of(place), offset == bindparam("away"))
    rows: list[dict[str, Any]] = [{"away": -1 - old, "new": new} for old, new in moved.items()]
    connection.execute(back.values(offset=bindparam("new")), rows)


def _of(place: TopicPartition) -> ColumnElement[bool]:
    columns = ARCHIVE.c
    return (columns.topic == place.topic) & (columns.partition == place.partition)

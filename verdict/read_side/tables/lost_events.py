"""Archived events that Kafka lost at the end of a partition, and where readers continue."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Engine, MetaData, bindparam, select, update

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.reader import KafkaLog
from verdict.read_side.projections.builtin.event_archive import archive_table
from verdict.read_side.schema.database import snapshot
from verdict.streaming.event_log.record import event_in, raw_record
from verdict.wire.catalog import AggregateContext, catalog_of
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.topics import Topics

ARCHIVE = archive_table(MetaData())
PAGE = 1_000

Identity = tuple[str, str, int]
"""Aggregate type, aggregate id and version."""


class EventPlace(NamedTuple):
    """An event, the SHA-256 of its bytes in hexadecimal, and its offset in the partition.

    `identity` is None if the record is not an event of this topic.
    """

    identity: Identity | None
    hash: str
    offset: int


@dataclass(frozen=True)
class Restoration:
    """What archive and Kafka hold of a partition, from the first lost event on.

    Args:
        start: The offset after the last event before the loss; others appended above it.
        archived: The archived events, by offset; the first one is lost.
        missing: Those of them that Kafka does not hold: they have to be appended.
        moved: The offset in Kafka by the archived offset, of the others.
        conflicts: Pairs of an archived event and one in Kafka with its version and other bytes.
        strangers: How many records of Kafka are not archived events.
    """

    start: int
    archived: Sequence[EventPlace]
    missing: Sequence[EventPlace]
    moved: Mapping[int, int]
    conflicts: Sequence[tuple[EventPlace, EventPlace]]
    strangers: int

    def position(self, next_offset: int) -> int:
        """Return where a reader continues, once nothing is missing; it misses no event.

        It reads events twice only if others were appended between the loss and the restoration:
        then no position fits both.
        """
        if next_offset <= self.start:
            return next_offset
        if not self.is_in_order:
            return self.start
        if next_offset >= self._after[0]:
            return next_offset  # it was corrected before
        read = bisect_left(self._before, next_offset)
        return self._after[read] if read < len(self._after) else self._after[-1] + 1

    @cached_property
    def is_in_order(self) -> bool:
        """Whether the restored events follow all that was read, in their order, without others."""
        in_order = self._after == sorted(self._after)
        return not self.strangers and in_order and self._after[0] > self._before[-1]

    @cached_property
    def _before(self) -> list[int]:
        return [event.offset for event in self.archived]

    @cached_property
    def _after(self) -> list[int]:
        return [self.moved[event.offset] for event in self.archived]


def compare(start: int, archived: Sequence[EventPlace], kept: Iterable[EventPlace]) -> Restoration:
    """Return what has to be done so that Kafka holds each archived event of a partition."""
    lost = {event.identity: event for event in archived}
    found: dict[Identity | None, int] = {}
    conflicts, strangers = [], 0
    for event in kept:
        same = lost.get(event.identity)
        if same is None:
            strangers += 1
        elif same.hash != event.hash:
            conflicts.append((same, event))
        else:
            found.setdefault(event.identity, event.offset)
    missing = [event for event in archived if event.identity not in found]
    moved = {one.offset: found[one.identity] for one in archived if one.identity in found}
    return Restoration(start, archived, missing, moved, conflicts, strangers)


class ArchivedBytes(NamedTuple):
    """An archived event with its bytes."""

    aggregate_type: str
    aggregate_id: str
    version: int
    offset: int
    value: bytes
    hash: str


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
    """Give archived events of a partition new offsets: `moved` maps old to new."""
    if not moved:
        return
    offset = ARCHIVE.c.offset
    away = update(ARCHIVE).where(_of(place), offset == bindparam("old"))
    connection.execute(away.values(offset=-1 - offset), [{"old": old} for old in moved])
    # negative until here, as an old offset of one event may be the new one of another
    back = update(ARCHIVE).where(_of(place), offset == bindparam("away"))
    rows = [{"away": -1 - old, "new": new} for old, new in moved.items()]
    connection.execute(back.values(offset=bindparam("new")), rows)


def _of(place: TopicPartition) -> ColumnElement[bool]:
    return (ARCHIVE.c.topic == place.topic) & (ARCHIVE.c.partition == place.partition)


def find_lost(
    engine: Engine, kafka: KafkaConfig, topics: Topics
) -> dict[TopicPartition, Restoration]:
    """Return what there is about each partition of which Kafka has lost archived events."""
    found, catalog = {}, catalog_of(topics.application)
    with KafkaLog(kafka.settings) as log, snapshot(engine) as connection:
        places = log.places(map(topics.events, topics.application.aggregate_types))
        log.await_settled(places, "events cannot be restored")
        for place, kept in log.bounds(places).items():
            start, archived = _from_first_lost(connection, log, place, kept)
            if archived:
                context = catalog[topics.aggregate_of(place.topic)]
                there = _kept(log, context, place, OffsetRange(start, kept.end))
                found[place] = compare(start, archived, there)
    return found


def _kept(
    log: KafkaLog, context: AggregateContext, place: TopicPartition, span: OffsetRange
) -> Iterator[EventPlace]:
    for record in map(raw_record, log.read({place: span})):
        value, key = record.value or b"", (record.key or b"").decode(errors="replace")
        event = event_in(context, key, value)
        identity = None if isinstance(event, str) else (context.name, key, event.event.version)
        yield EventPlace(identity, sha256(value).hexdigest(), record.offset)


def _from_first_lost(
    connection: Connection, log: KafkaLog, place: TopicPartition, kept: OffsetRange
) -> tuple[int, list[EventPlace]]:
    """Return the archived events from the first that Kafka lacks, and the offset before it.

    It looks back page by page, until Kafka has a whole page. What Kafka dropped at the beginning of
    the partition is not lost.
    """
    looked_at: list[EventPlace] = []
    first: int | None = None
    while page := _page_before(connection, place, looked_at[-1].offset if looked_at else None):
        looked_at += page
        lost = _lost(page, log, place, kept)
        first = min(lost, default=first)
        if not lost:
            break
    if first is None:
        return kept.end, []
    before = [event.offset + 1 for event in looked_at if event.offset < first]
    archived = [event for event in reversed(looked_at) if event.offset >= first]
    return max([kept.start, *before]), archived


def _page_before(
    connection: Connection, place: TopicPartition, end: int | None
) -> list[EventPlace]:
    """Return the last archived events of a partition, or the last before `end`, newest first."""
    of = ARCHIVE.c
    page = select(of.aggregate_type, of.aggregate_id, of.version, of.hash, of.offset)
    page = page.where(_of(place), *(() if end is None else (of.offset < end,)))
    rows = connection.execute(page.order_by(of.offset.desc()).limit(PAGE))
    return [EventPlace((kind, name, version), *rest) for kind, name, version, *rest in rows]


def _lost(
    page: Sequence[EventPlace], log: KafkaLog, place: TopicPartition, kept: OffsetRange
) -> list[int]:
    """Return the offsets of archived events, newest first, that Kafka has not at their places."""
    span = OffsetRange(max(page[-1].offset, kept.start), min(page[0].offset + 1, kept.end))
    records = log.read({place: span}) if span.start < span.end else ()
    there = {one.offset(): sha256(one.value() or b"").hexdigest() for one in records}
    return [
        event.offset
        for event in page
        if event.offset >= kept.start and there.get(event.offset) != event.hash
    ]

"""The archived events that Kafka has lost, found by comparing the two."""

from collections.abc import Iterator, Sequence
from hashlib import sha256

from sqlalchemy import Connection, Engine

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.reader import KafkaLog
from verdict.read_side.schema.database import snapshot
from verdict.read_side.tables import archived_places
from verdict.read_side.tables.restoration import EventPlace, Restoration, compare
from verdict.streaming.event_log.record import event_in, raw_record
from verdict.wire.catalog import AggregateContext, catalog_of
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.topics import Topics


def compared(
    engine: Engine, kafka: KafkaConfig, topics: Topics
) -> dict[TopicPartition, Restoration]:
    """Return what there is about each partition of which Kafka has lost archived events.

    Raises:
        UnreachableError: Kafka or the database does not answer, or a transaction stays open.
    """
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
    """Return the archived events of a partition from the first on that Kafka has not at its place.

    It looks back page by page, until all of one is there. What Kafka dropped at the beginning of
    the partition is not lost.
    """
    looked_at: list[EventPlace] = []
    first: int | None = None
    for page in archived_places.newest_first(connection, place):
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

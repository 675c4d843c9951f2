"""Events that Kafka lost at the end of its topics are appended again, from the archive.

A repetition finishes what an interrupted run began, and no event is appended twice:

1. Fence the command processor, and let its progress record cover all commands whose outcomes the
   database has.
2. Use up the offsets that were read, on each topic that ends below them. So no offset names two
   records, and no reader misses what is appended. This also aborts a transaction without an end.
3. Append the missing events, and a decision for each partition.
4. Correct the progress records of policies and lake; then, in one transaction, the positions of
   archived events and of all projections. Until then each start is refused.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

from sqlalchemy import Engine, text

from verdict.adapters.kafka.appending import Appender, Record
from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import Offsets, by_topic
from verdict.adapters.kafka.reader import KafkaLog
from verdict.errors import VerdictError
from verdict.model.source import Source
from verdict.operations.repair.positions import (
    ReadPositions,
    Restorations,
    correct_progress,
    read_positions,
)
from verdict.read_side.schema.database import failing_in_words, snapshot
from verdict.read_side.tables import lost_events, position
from verdict.read_side.tables.lost_events import ArchivedBytes, find_lost
from verdict.read_side.tables.same_log import check_same_topics, database_if_any, has_archive
from verdict.service.queries import require_same_log
from verdict.settings.database_address import masked_url, parse
from verdict.settings.discovery import database_url
from verdict.settings.settings import Settings
from verdict.streaming.event_log.skip_log import read_skips, write_skips
from verdict.streaming.event_log.skips import SkipRequest
from verdict.streaming.exactly_once.fencing import claim
from verdict.streaming.exactly_once.query import DECIDER, Query, decider_query
from verdict.streaming.exactly_once.topic_owner import check_topics_owner
from verdict.wire.catalog import Catalog, catalog_of
from verdict.wire.cloud_events import event_headers
from verdict.wire.partitions import TopicPartition
from verdict.wire.records import decode_event
from verdict.wire.skip_record import Kind

LOG = logging.getLogger("verdict.recovery")
SHOWN = 12  # conflicts

COMMANDS = 'SELECT topic, "partition", max("offset") + 1 FROM outcome GROUP BY topic, "partition"'


@dataclass(frozen=True, slots=True)
class Restored:
    """How many events were lost at the end of each partition, and how many were appended now."""

    lost: Mapping[TopicPartition, int]
    appended: int

    def __str__(self) -> str:
        if not self.lost:
            return "no archived event was lost"
        places = ", ".join(f"{count} of {place}" for place, count in sorted(self.lost.items()))
        return (
            f"Kafka had lost {places}; {self.appended} events were appended now; `verdict verify` "
            "names rows of projections that came from lost events which were not archived"
        )


def restore_events(settings: Settings, kafka: KafkaConfig, wish: SkipRequest) -> Restored:
    """Append the archived events again that Kafka has lost, and correct all positions."""
    require_same_log(settings, kafka)
    check_topics_owner(settings.topics, kafka)
    positions = read_positions(settings, kafka)
    check_same_topics(settings, kafka, positions.read_side)
    with database_if_any(settings) as engine:
        if engine is None or not has_archive(engine):
            raise VerdictError(
                f"{masked_url(parse(database_url(settings)))} has no archive of events: name the "
                "database that has it with --database-url"
            )
        with failing_in_words(engine):
            return _Restoring(settings, kafka, engine, positions).run(wish)


@dataclass(frozen=True, slots=True)
class _Restoring:
    """What all steps of a restoration need."""

    settings: Settings
    kafka: KafkaConfig
    engine: Engine
    positions: ReadPositions

    def run(self, wish: SkipRequest) -> Restored:
        decider = decider_query(self.settings.topics, self.settings.shards)
        self._cover_decided_commands(decider)
        appender = Appender(self.kafka, decider.transactional_id)
        appender.use_up(self._unread())
        found = find_lost(self.engine, self.kafka, self.settings.topics)
        _check_conflicts(found)
        # one offset between, so that no position is both before and after the restoration
        appender.use_up({place: 1 for place, one in found.items() if one.missing})
        appended = appender.append(self._records(found))
        self._record(found, wish)
        found = find_lost(self.engine, self.kafka, self.settings.topics)
        for query, _ in self.positions.progress_records:
            if query.name != DECIDER:
                correct_progress(self.settings, self.kafka, query, found)
        with self.engine.begin() as connection:
            for place, one in found.items():
                lost_events.move(connection, place, one.moved)
                position.move(connection, place, one.position)
        return Restored({place: len(one.archived) for place, one in found.items()}, appended)

    def _cover_decided_commands(self, decider: Query) -> None:
        """Fence the decider; its progress record covers what was decided according to SQL."""
        names = {query.name: progress for query, progress in self.positions.progress_records}
        if (former := names.get(DECIDER)) is not None:
            raised = replace(former, offsets=_raised(former.offsets, self._commands()))
            claim(decider, self.kafka, lambda: raised).close()

    def _unread(self) -> dict[TopicPartition, int]:
        """Return how many offsets have to be used up on each partition, if any."""
        reached = self.positions.reached()
        for place, offset in self._commands().items():
            reached[place] = max(reached.get(place, 0), offset)
        with KafkaLog(self.kafka.settings) as log:
            there = log.topics()
            written = log.written([place for place in reached if place.topic in there])
            hidden = log.hidden(written)
        lacking = {place: reached[place] - end for place, end in written.items()}
        return {
            place: max(count, int(place in hidden))
            for place, count in lacking.items()
            if count > 0 or place in hidden
        }

    def _commands(self) -> dict[TopicPartition, int]:
        """Return the offsets after the last commands whose outcomes the database has."""
        with snapshot(self.engine) as connection:
            rows = connection.execute(text(COMMANDS)).all()
        return {TopicPartition(topic, number): offset for topic, number, offset in rows}

    def _records(self, found: Restorations) -> Iterator[Record]:
        catalog = catalog_of(self.settings.application)
        with snapshot(self.engine) as connection:
            for place, one in found.items():
                missing = {event.offset for event in one.missing}
                for event in lost_events.stored_from(connection, place, one.archived[0].offset):
                    if event.offset in missing:
                        yield _record(catalog, place, event)

    def _record(self, found: Restorations, wish: SkipRequest) -> None:
        """Record who restored what, unless an interrupted run did that."""
        decisions = [
            wish.record(
                Source(*place, one.archived[0].offset),
                one.archived[-1].offset + 1,
                Kind.RESTORED,
            )
            for place, one in found.items()
        ]
        before = read_skips(self.kafka.settings, self.settings.topics)
        known = {(one.source, one.until_offset) for one in before if one.kind == Kind.RESTORED}
        new = [one for one in decisions if (one.source, one.until_offset) not in known]
        write_skips(self.kafka.settings, self.settings.topics, new)


def _check_conflicts(found: Restorations) -> None:
    said = [
        f"version {event.identity[2]} of {event.identity[0]} {event.identity[1]!r} was archived at "
        f"{place}:{event.offset} with the SHA-256 {event.hash[:16]}…, and {place}:{other.offset} "
        f"has other bytes ({other.hash[:16]}…)"
        for place, one in found.items()
        for event, other in one.conflicts
        if event.identity is not None
    ]
    if said:
        more = f"; and {len(said) - SHOWN} more" if len(said) > SHOWN else ""
        raise VerdictError(
            f"events were appended after Kafka had lost others, under the same versions: "
            f"{'; '.join(said[:SHOWN])}{more}. Nothing was restored. Decide which of the two "
            "counts: to keep the archived ones, bring back Kafka's files from a backup without the "
            "others; to keep those in Kafka, go on with a database from before the loss, or an "
            "empty one"
        )


def _record(catalog: Catalog, place: TopicPartition, event: ArchivedBytes) -> Record:
    if (found := sha256(event.value).hexdigest()) != event.hash:
        raise VerdictError(
            f"version {event.version} of {event.aggregate_type} {event.aggregate_id!r} in "
            f"event_archive was altered: its value has the SHA-256 {found[:16]}…, its hash says "
            f"{event.hash[:16]}…; restore the row from a backup of the database"
        )
    try:
        headers = event_headers(decode_event(catalog[event.aggregate_type], event.value))
    except ValueError as error:  # of rules that its class states today, perhaps
        LOG.warning("%s:%s is appended without headers: %s", place, event.offset, error)
        headers = {}
    return {
        **place._asdict(),
        "key": event.aggregate_id.encode(),
        "value": event.value,
        "headers": [*headers.items()],
    }


def _raised(offsets: Offsets, decided: Mapping[TopicPartition, int]) -> Offsets:
    """Return a position in topics of commands that covers what is decided."""
    known = {
        TopicPartition(topic, n): at for topic, of in offsets.items() for n, at in enumerate(of)
    }
    raised = {place: max(at, decided.get(place, 0)) for place, at in known.items()}
    return offsets | by_topic(raised)

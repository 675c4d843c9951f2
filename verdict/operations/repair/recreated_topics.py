"""A deleted topic is created again, unless state is made from its records.

The new topic continues above the offsets that were read of the former one. So each position stays
true, and no offset names two records. What only the former topic had is lost: commands that were
not decided, dead letters that the database has not stored.
"""

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from verdict.adapters.kafka.appending import Appender
from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.log_identity import Identities, Identity
from verdict.adapters.kafka.reader import KafkaLog, headers_of
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.errors import VerdictError
from verdict.model.source import Source
from verdict.operations.repair.positions import ReadPositions, read_positions
from verdict.read_side.tables.same_log import rebind_to_log
from verdict.settings.settings import Settings
from verdict.streaming.event_log.skip_log import write_skips
from verdict.streaming.event_log.skips import SkipRequest
from verdict.streaming.exactly_once.fencing import claim
from verdict.streaming.exactly_once.query import DECIDER, Query, decider_query
from verdict.streaming.exactly_once.read_progress import readable_progress
from verdict.streaming.exactly_once.topic_owner import check_topics_owner
from verdict.wire.partitions import OffsetRange, Spans, TopicPartition
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.skip_record import Kind
from verdict.wire.topics import Topics

LOG = logging.getLogger("verdict.recovery")


def recreate_topics(settings: Settings, kafka: KafkaConfig, wish: SkipRequest) -> list[str]:
    """Create deleted topics again, and let progress records and database know their new ids.

    An interrupted run can be repeated.
    """
    positions = read_positions(settings, kafka)
    gone = _gone(positions, kafka, {topic.name for topic in settings.topics.all()})
    if not gone:
        return []
    check_topics_owner(settings.topics, kafka)
    if all(query.name != DECIDER for query, _ in positions.progress_records):
        raise VerdictError(
            f"{', '.join(gone)} {_is_are(gone)} gone, and so is the progress record that says how "
            "far they were read: restore the broker's files from a backup"
        )
    _check_recreatable(gone, settings.topics)
    begins = _begins(positions, settings.topics, gone)
    counts = Counter(place.topic for place in begins)
    wanted = [one for one in settings.topics.all() if one.name in counts]
    TopicAdmin(kafka.settings, settings.topics).create(
        [replace(topic, partitions=counts[topic.name]) for topic in wanted]
    )
    _continue(kafka, settings, begins)
    _record(kafka, settings.topics, gone, wish)
    found = Identities(kafka).identity(gone)
    for query, _ in positions.progress_records:
        if not query.topics.isdisjoint(gone):
            claim(query, kafka, partial(_with_new_ids, query, kafka, found)).close()
    rebind_to_log(settings, found)
    LOG.warning("created again: %s", ", ".join(gone))
    return gone


def _gone(positions: ReadPositions, kafka: KafkaConfig, declared: Collection[str]) -> list[str]:
    """Return the topics of this cluster that are missing, or have another id now."""
    cluster = Identities(kafka).identity(()).cluster_id
    known = positions.topic_ids(cluster)
    found = Identities(kafka).identity(known).topic_ids
    return sorted(
        name for name, ids in known.items() if name in declared and ids != {found.get(name)}
    )


def _check_recreatable(gone: Collection[str], topics: Topics) -> None:
    types = topics.application.aggregate_types
    needed = {*map(topics.events, types), *map(topics.responses, types), *topics.states}
    if lost := sorted({*needed, topics.skips} & {*gone}):
        raise VerdictError(
            f"{', '.join(lost)} {_is_are(lost)} deleted, and an empty topic cannot take its place: "
            "the state is made from what was on it. Restore it from a backup: stop Kafka and bring "
            "back the files of its brokers (of the embedded Kafka: `broker` in the data directory)"
        )


def _begins(
    positions: ReadPositions, topics: Topics, gone: Collection[str]
) -> dict[TopicPartition, int]:
    first = {
        TopicPartition(topic.name, number): 0
        for topic in topics.all()
        if topic.name in gone
        for number in range(topic.partitions)
    }
    reached = positions.reached().items()
    return first | {place: offset for place, offset in reached if place.topic in gone}


def _continue(kafka: KafkaConfig, settings: Settings, begins: Mapping[TopicPartition, int]) -> None:
    """Use up the offsets below `begins`.

    Records that others have written there meanwhile are appended again: after an interruption,
    some of them twice.
    """
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        kept = log.bounds(begins)
        below = {
            place: OffsetRange(of.start, min(of.end, begins[place])) for place, of in kept.items()
        }
        appender = Appender(kafka, decider_query(settings.topics, 1).transactional_id)
        appender.use_up({place: begins[place] - of.end for place, of in kept.items()})
        if count := appender.append(_copies(log, below)):
            LOG.warning("%s records that others have written were appended again", count)


def _copies(log: KafkaLog, below: Spans) -> Iterator[Mapping[str, Any]]:
    for message in log.read({place: one for place, one in below.items() if one.end > one.start}):
        yield {
            "topic": message.topic(),
            "partition": message.partition(),
            "key": message.key(),
            "value": message.value(),
            "headers": [*(headers_of(message) or ())],
        }


def _record(kafka: KafkaConfig, topics: Topics, gone: Sequence[str], wish: SkipRequest) -> None:
    decisions = [
        replace(wish, reason=f"{name} was deleted and is created again: {wish.reason}").record(
            Source(name, 0, 0), 0, Kind.ACCEPTED
        )
        for name in gone
    ]
    write_skips(kafka.settings, topics, decisions)


def _with_new_ids(query: Query, kafka: KafkaConfig, found: Identity) -> ProgressRecord:
    progress = readable_progress(kafka, query, wait=True)
    if progress is None:
        raise VerdictError(f"the progress record of {query.name} was deleted meanwhile: try again")
    ids = {name: one for name, one in found.topic_ids.items() if name in query.topics}
    return replace(progress, topic_ids={**progress.topic_ids, **ids})


def _is_are(names: Collection[str]) -> str:
    return "is" if len(names) == 1 else "are"

"""Kafka's topics: what differs, and how far the decider and the other processors have read them."""

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from verdict.adapters.kafka.connection import kafka_of
from verdict.adapters.kafka.offsets import offsets_at
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.kafka.topic_drift import Difference
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.adapters.sql.time_text import wall_clock
from verdict.operations.status.status import (
    CommandsStatus,
    DeciderStatus,
    OpenTransaction,
    ProcessorStatus,
    total,
)
from verdict.settings.checks import transaction_timeout_s
from verdict.settings.discovery import kafka_options
from verdict.settings.settings import Settings
from verdict.streaming.event_log.skip_log import accepted_partitions, read_skips
from verdict.streaming.exactly_once.query import decider_query
from verdict.streaming.exactly_once.read_progress import read_progress_now
from verdict.wire.partitions import TopicPartition
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.topics import Topics

LogEnds = dict[TopicPartition, int]
"""The offset after the last record of each, whether its transaction has ended or not."""

ANSWER_S = 2.0  # for the first answer
OPEN_S = 2.0  # an ordinary transaction has ended by then, or another one is the first


def decider_progress(settings: Settings) -> ProgressRecord | None:
    """Return the decider's progress record; None if nothing was ever decided here."""
    return read_progress_now(kafka_of(settings), decider_query(settings.topics, settings.shards))


def topic_differences(settings: Settings, progress: ProgressRecord | None) -> list[Difference]:
    """Return all that is missing or differs, except what an operator has accepted.

    `progress` is the decider's progress record.
    """
    options, topics = kafka_options(settings), settings.topics
    accepted = accepted_partitions(read_skips(options, topics))
    return TopicAdmin(options, topics).differences(progress.offsets if progress else None, accepted)


@contextmanager
def log_of(settings: Settings) -> Iterator[KafkaLog]:
    """Open a reader for all questions of a status: to make a client takes longer than to ask."""
    kafka = kafka_of(settings)
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        log.await_answer(ANSWER_S)
        yield log


def ends_of(log: KafkaLog, topics: Collection[str]) -> LogEnds:
    """Return the ends of each partition of those topics that exist."""
    return log.written(_existing(log, topics))


def ends_and_open(
    log: KafkaLog, topics: Collection[str], outputs: Collection[str] = (), limit_s: float = 0.0
) -> tuple[LogEnds, LogEnds]:
    """Return the ends, and where a transaction stays open: readers wait at that offset.

    On `outputs` those count that were begun before `limit_s`: Kafka ends ours by then.
    """
    ends = ends_of(log, topics)
    hidden = log.hidden(ends)
    ours = {place: at for place, at in hidden.items() if place.topic in outputs}
    others = {place: at for place, at in hidden.items() if place not in ours}
    since = log.first_since([*ours], wall_clock() - int(limit_s * 1000)) if ours else {}
    older = {place: at for place, at in ours.items() if at < since[place]}
    return ends, {**older, **_lasting(log, others, ends)}


def open_transactions(settings: Settings, log: KafkaLog) -> tuple[OpenTransaction, ...]:
    """Return those that stay open on topics of the deployment."""
    topics = settings.topics
    names = [topic.name for topic in topics.all()]
    ends, stay_open = ends_and_open(log, names, topics.outputs(), transaction_timeout_s(settings))
    return tuple(OpenTransaction(*place, at, ends[place]) for place, at in stay_open.items())


def decider(
    progress: ProgressRecord, topics: Topics, log: KafkaLog
) -> tuple[DeciderStatus, tuple[CommandsStatus, ...]]:
    """Return the decider, and each partition of commands."""
    ends = ends_of(log, {*topics.every_commands(), *progress.offsets})
    about = DeciderStatus(
        progress.owner,
        progress.generation,
        progress.batch_id,
        progress.shards,
        progress.handler_version,
    )
    commands = []
    for place, end in sorted(ends.items()):
        decided = offsets_at(progress.offsets, place)
        commands.append(CommandsStatus(*place, decided, end, end - decided))
    return about, (*commands,)


def processors(
    progress_records: Collection[ProgressRecord], log: KafkaLog
) -> tuple[ProcessorStatus, ...]:
    """Return the processors that have run."""
    ends = ends_of(log, {topic for progress in progress_records for topic in progress.offsets})
    return tuple(
        ProcessorStatus(
            progress.query,
            progress.generation,
            progress.owner,
            total(
                end - offsets_at(progress.offsets, place)
                for place, end in ends.items()
                if place.topic in progress.offsets
            ),
            sum(map(sum, progress.offsets.values())),
        )
        for progress in progress_records
    )


def _lasting(log: KafkaLog, hidden: LogEnds, ends: LogEnds) -> LogEnds:
    """Return those that are open for a while: a sender's clock does not say for how long."""
    if not hidden:
        return {}
    time.sleep(OPEN_S)
    later = log.hidden({place: ends[place] for place in hidden})
    return {place: at for place, at in hidden.items() if later.get(place) == at}


def _existing(log: KafkaLog, topics: Collection[str]) -> list[TopicPartition]:
    listed = log.topics()
    # the others one by one, as Kafka leaves out of a whole list what we may not see
    return log.places([one for one in sorted(topics) if one in listed or log.exists(one)])

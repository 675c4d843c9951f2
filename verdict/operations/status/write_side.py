"""How far the decider and what runs beside it have come, by their progress records."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from verdict.adapters.kafka.offsets import offsets_at
from verdict.adapters.kafka.reader import KafkaLog
from verdict.operations.status.log_ends import Ends, ends_and_open, ends_of
from verdict.operations.status.status import (
    CommandsStatus,
    DeciderStatus,
    OpenTransaction,
    ProcessorStatus,
    total,
)
from verdict.settings.checks import transaction_timeout_s
from verdict.settings.settings import Settings
from verdict.wire.partitions import TopicPartition
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.topics import Topics


def open_transactions(settings: Settings, log: KafkaLog) -> tuple[OpenTransaction, ...]:
    """Return those that stay open on topics of the deployment.

    Raises:
        UnreachableError: Kafka does not answer.
    """
    topics = settings.topics
    every = [topic.name for topic in topics.all()]
    limit_s = transaction_timeout_s(settings)
    ends, stays_open = ends_and_open(log, every, topics.outputs(), limit_s)
    return tuple(OpenTransaction(*place, at, ends[place]) for place, at in stays_open.items())


class WriteSideStatus(NamedTuple):
    """The decider, and each partition of commands."""

    about: DeciderStatus
    commands: tuple[CommandsStatus, ...]


def decider(
    progress: ProgressRecord, topics: Topics, log: KafkaLog, opened: Iterable[OpenTransaction]
) -> WriteSideStatus:
    """Return the decider and its partitions of commands.

    Raises:
        UnreachableError: Kafka does not answer.
    """
    ends = ends_of(log, {*topics.every_commands(), *progress.offsets})
    stays_open = {TopicPartition.of(one): one.offset for one in opened}
    about = DeciderStatus(
        progress.owner,
        progress.generation,
        progress.batch_id,
        progress.shards,
        progress.handler_version,
    )
    return WriteSideStatus(about, tuple(_commands(progress, ends, stays_open)))


def _commands(progress: ProgressRecord, ends: Ends, stays_open: Ends) -> Iterator[CommandsStatus]:
    for place, end in sorted(ends.items()):
        decided = offsets_at(progress.offsets, place)
        yield CommandsStatus(*place, decided, end, end - decided, stays_open.get(place))


def processors(
    progress_records: Iterable[ProgressRecord], log: KafkaLog
) -> tuple[ProcessorStatus, ...]:
    """Return the processors that have run.

    Raises:
        UnreachableError: Kafka does not answer.
    """
    progress_records = [*progress_records]
    ends = ends_of(log, {topic for progress in progress_records for topic in progress.offsets})
    return tuple(
        ProcessorStatus(
            progress.query,
            progress.generation,
            progress.owner,
            total(_lags(progress, ends)),
            sum(map(sum, progress.offsets.values())),
        )
        for progress in progress_records
    )


def _lags(progress: ProgressRecord, ends: Ends) -> Iterator[int]:
    for place, end in ends.items():
        if place.topic in progress.offsets:
            yield end - offsets_at(progress.offsets, place)

"""How far the decider and what runs beside it have come, by their markers."""

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
from verdict.settings.batch_size import transaction_timeout_s
from verdict.settings.settings import Settings
from verdict.wire.marker import Marker
from verdict.wire.partitions import TopicPartition
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
    marker: Marker, topics: Topics, log: KafkaLog, opened: Iterable[OpenTransaction]
) -> WriteSideStatus:
    """Return the decider and its partitions of commands.

    Raises:
        UnreachableError: Kafka does not answer.
    """
    ends = ends_of(log, {*topics.every_commands(), *marker.offsets})
    stays_open = {TopicPartition.of(one): one.offset for one in opened}
    about = DeciderStatus(
        marker.owner, marker.generation, marker.batch_id, marker.shards, marker.handler_version
    )
    return WriteSideStatus(about, tuple(_commands(marker, ends, stays_open)))


def _commands(marker: Marker, ends: Ends, stays_open: Ends) -> Iterator[CommandsStatus]:
    for place, end in sorted(ends.items()):
        decided = offsets_at(marker.offsets, place)
        yield CommandsStatus(*place, decided, end, end - decided, stays_open.get(place))


def processors(markers: Iterable[Marker], log: KafkaLog) -> tuple[ProcessorStatus, ...]:
    """Return the processors that have run.

    Raises:
        UnreachableError: Kafka does not answer.
    """
    markers = [*markers]
    ends = ends_of(log, {topic for marker in markers for topic in marker.offsets})
    return tuple(
        ProcessorStatus(
            marker.query,
            marker.generation,
            marker.owner,
            total(_lags(marker, ends)),
            sum(map(sum, marker.offsets.values())),
        )
        for marker in markers
    )


def _lags(marker: Marker, ends: Ends) -> Iterator[int]:
    for place, end in ends.items():
        if place.topic in marker.offsets:
            yield end - offsets_at(marker.offsets, place)

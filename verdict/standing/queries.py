"""How far the decider and what runs beside it have come, by their markers."""

from collections.abc import Iterator
from typing import NamedTuple

from verdict.configuration.settings import Settings
from verdict.kafka.offsets import at
from verdict.standing.facts import (
    CommandsStanding,
    DeciderStanding,
    ProcessorStanding,
    total,
)
from verdict.standing.log_ends import Ends, ends_and_open, ends_of
from verdict.standing.markers import decider_marker, lake_marker, reactions_marker
from verdict.wire.marker import Marker
from verdict.wire.spans import Partition


class Decided(NamedTuple):
    """The decider, and each partition of commands."""

    about: DeciderStanding
    commands: tuple[CommandsStanding, ...]


def decider(settings: Settings) -> Decided | None:
    """Return the decider and its partitions of commands; None when it has never run.

    Raises:
        Unreachable: Kafka does not answer.
        VerdictError: The markers topic holds something else.
    """
    marker = decider_marker(settings)
    if marker is None:
        return None
    topics = {*settings.topics.every_commands(), *marker.offsets}
    ends, stays_open = ends_and_open(settings, topics)
    about = DeciderStanding(
        marker.owner, marker.generation, marker.batch_id, marker.shards, marker.handler_version
    )
    return Decided(about, tuple(_commands(marker, ends, stays_open)))


def _commands(marker: Marker, ends: Ends, stays_open: Ends) -> Iterator[CommandsStanding]:
    for place, end in sorted(ends.items()):
        decided = at(marker.offsets, place)
        yield CommandsStanding(*place, decided, end, end - decided, stays_open.get(place))


def processors(settings: Settings) -> tuple[ProcessorStanding, ...]:
    """Return the processors that have run; raises as `decider`."""
    found = {"reactions": reactions_marker(settings), "lake": lake_marker(settings)}
    markers = {name: marker for name, marker in found.items() if marker is not None}
    ends = ends_of(settings, {topic for marker in markers.values() for topic in marker.offsets})
    return tuple(
        ProcessorStanding(
            name,
            marker.generation,
            marker.owner,
            total(_lags(marker, ends)),
            sum(map(sum, marker.offsets.values())),
        )
        for name, marker in markers.items()
    )


def _lags(marker: Marker, ends: Ends) -> Iterator[int]:
    for topic, offsets in marker.offsets.items():
        for partition, offset in enumerate(offsets):
            if (place := Partition(topic, partition)) in ends:
                yield ends[place] - offset

"""Where reading starts: `beginning`, `end`, a time, or a partition and an offset."""

import re
from dataclasses import dataclass

import typer

from verdict.kafka.log import KafkaLog, Span
from verdict.model.message import epoch_millis

PLACE = re.compile(r"(\d+):(\d+)")


@dataclass(frozen=True, slots=True)
class From:
    """One of the four: the beginning, the end, a Kafka time in epoch milliseconds, or a place."""

    end: bool = False
    millis: int | None = None
    place: tuple[int, int] | None = None


def parse_from(text: str) -> From:
    """Read `--from`.

    Raises:
        BadParameter: It is none of the four.
    """
    if text in ("beginning", "end"):
        return From(end=text == "end")
    if match := PLACE.fullmatch(text):
        return From(place=(int(match[1]), int(match[2])))
    return From(millis=parse_time(text))


def parse_time(text: str) -> int:
    """Read a time with a zone as epoch milliseconds.

    Raises:
        BadParameter: It is no ISO 8601 time, or lacks the zone.
    """
    try:
        millis = epoch_millis(text)
    except ValueError as error:
        raise typer.BadParameter(
            f"{text!r} is no time with a zone, such as 2026-11-21T13:00:00Z"
        ) from error
    assert isinstance(millis, int)  # a text is never returned as it was
    return millis


def spans(log: KafkaLog, topic: str, start: From, follow: bool) -> list[Span]:
    """Return what to read of a topic: up to what is there now, or on for ever.

    Raises:
        BadParameter: The topic has no such partition.
        Unreachable, VerdictError: As for `KafkaLog`.
    """
    partitions = log.partitions(topic)
    if start.place is not None:
        partition, offset = start.place
        if partition >= partitions:
            raise typer.BadParameter(
                f"{topic} has the partitions 0 to {partitions - 1}, not {partition}"
            )
        end = log.bounds(topic, partition)[1]
        return [Span(topic, partition, offset, None if follow else end)]
    found = []
    for partition in range(partitions):
        low, high = log.bounds(topic, partition)
        first = high if start.end else low
        if start.millis is not None:
            first = log.first_since(topic, partition, start.millis)
        found.append(Span(topic, partition, first, None if follow else high))
    return found

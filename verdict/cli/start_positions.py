"""Where reading starts: `beginning`, `end`, a time, or a partition and an offset."""

import re
from dataclasses import dataclass

import typer

from verdict.adapters.kafka.reader import KafkaLog
from verdict.model.message import epoch_millis
from verdict.wire.partitions import OffsetRange, TopicPartition

PLACE = re.compile(r"(\d+):(\d+)")


@dataclass(frozen=True, slots=True)
class StartPosition:
    """One of the four: the beginning, the end, a Kafka time in epoch milliseconds, or a place."""

    end: bool = False
    millis: int | None = None
    place: tuple[int, int] | None = None


def parse_from(text: str) -> StartPosition:
    """Read `--from`.

    Raises:
        BadParameter: It is none of the four.
    """
    if text in ("beginning", "end"):
        return StartPosition(end=text == "end")
    if match := PLACE.fullmatch(text):
        return StartPosition(place=(int(match[1]), int(match[2])))
    return StartPosition(millis=parse_time(text))


def parse_time(text: str) -> int:
    """Read a time with a zone as epoch milliseconds.

    Raises:
        BadParameter: It is no ISO 8601 time, or lacks the zone.
    """
    try:
        millis = epoch_millis(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    assert isinstance(millis, int)  # a text is never returned as it was
    return millis


def start_offsets(
    log: KafkaLog, topic: str, start: StartPosition
) -> dict[TopicPartition, OffsetRange]:
    """Return what to read of a topic, up to what is there now.

    Raises:
        BadParameter: The topic has no such partition.
        UnreachableError, VerdictError: As for `KafkaLog`.
    """
    kept = log.bounds(log.places([topic]))
    if start.place is not None:
        number, offset = start.place
        place = TopicPartition(topic, number)
        if place not in kept:
            raise typer.BadParameter(
                f"{topic} has the partitions 0 to {len(kept) - 1}, not {number}"
            )
        if offset > kept[place].end:
            raise typer.BadParameter(
                f"{topic}:{number} ends at offset {kept[place].end}, there is no {offset} yet"
            )
        return {place: OffsetRange(offset, kept[place].end)}
    if start.millis is not None:
        since = log.first_since(kept, start.millis)
        return {place: OffsetRange(since[place], span.end) for place, span in kept.items()}
    if start.end:
        return {place: OffsetRange(span.end, span.end) for place, span in kept.items()}
    return kept

"""Partitions of topics, and stretches of offsets in them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class InPartition(Protocol):
    """What lies in a partition, or is told of one."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int

    @classmethod
    def of(cls, one: InPartition) -> "TopicPartition":
        """Return the partition of a record, or of what else is told of one."""
        return cls(one.topic, one.partition)

    def __str__(self) -> str:
        return f"{self.topic}:{self.partition}"


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """The offsets of a batch in one partition: from `start` up to, and without, `end`.

    Not every offset holds a record, as Kafka's own control records take offsets too.
    """

    start: int
    end: int


Spans = Mapping[TopicPartition, OffsetRange]


def halves(spans: Spans) -> list[dict[TopicPartition, OffsetRange]]:
    """Return what comes first of `spans` and what comes then, about half of the offsets each."""
    if all(span.end - span.start <= 1 for span in spans.values()):
        places = sorted(place for place, span in spans.items() if span.end > span.start)
        parts = places[: len(places) // 2], places[len(places) // 2 :]
        return [{place: spans[place] for place in part} for part in parts]
    first, then = {}, {}
    for place, span in spans.items():
        middle = span.start + (span.end - span.start + 1) // 2
        if middle > span.start:
            first[place] = OffsetRange(span.start, middle)
        if span.end > middle:
            then[place] = OffsetRange(middle, span.end)
    return [first, then]

"""What the engine is given: decoded records with their places, and how far the batch goes."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from verdict.model.recorded_event import RecordedEvent
from verdict.wire.response import Response
from verdict.wire.share_holding import ShareHolding


class Partition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Span:
    """The offsets of a batch in one partition: from `start` up to, and without, `end`.

    Not every offset holds a record, as Kafka's own control records take offsets too.
    """

    start: int
    end: int


Spans = Mapping[Partition, Span]


def halves(spans: Spans) -> list[dict[Partition, Span]]:
    """Return what comes first of `spans` and what comes then, about half of the offsets each.

    Args:
        spans: With more than one offset together.
    """
    if all(span.end - span.start <= 1 for span in spans.values()):
        places = sorted(place for place, span in spans.items() if span.end > span.start)
        parts = places[: len(places) // 2], places[len(places) // 2 :]
        return [{place: spans[place] for place in part} for part in parts]
    first, then = {}, {}
    for place, span in spans.items():
        middle = span.start + (span.end - span.start + 1) // 2
        if middle > span.start:
            first[place] = Span(span.start, middle)
        if span.end > middle:
            then[place] = Span(middle, span.end)
    return [first, then]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Stands for a record that could not be decoded, and says why.

    `event` says whose event lies there, (aggregate type, id, version), where it is known, as it is
    of archived ones.
    """

    error: str
    event: tuple[str, str, int] | None = None


@dataclass(frozen=True, slots=True)
class Carried:
    """The whole state of a key as it is from now on; None when there is none any more.

    What cannot be decoded is a state of its key, too, which nobody knows.
    """

    key: str
    value: ShareHolding | Unreadable | None


Record = RecordedEvent | Response | Carried


class Delivery(NamedTuple):
    """A decoded record and its place; of an event the bytes of its value, too."""

    topic: str
    partition: int
    offset: int
    record: Record | Unreadable
    value: bytes | None = None


class Batch:
    """Records of any number of topics, each partition's in the order of its offsets.

    Args:
        deliveries: In any order; all that lie within `spans`.
        spans: What the batch covers, empty stretches too.
    """

    def __init__(self, deliveries: Iterable[Delivery], spans: Mapping[Partition, Span]) -> None:
        self._spans = dict(spans)
        self._of_topic: dict[str, list[Delivery]] = {}
        for delivery in deliveries:
            self._of_topic.setdefault(delivery.topic, []).append(delivery)
        for found in self._of_topic.values():
            found.sort(key=attrgetter("partition", "offset"))

    def spans(self, topics: Iterable[str]) -> dict[Partition, Span]:
        """Return what the batch covers of `topics`."""
        wanted = set(topics)
        return {place: span for place, span in self._spans.items() if place.topic in wanted}

    def deliveries(self, topics: Iterable[str]) -> Iterator[Delivery]:
        """Yield the records of `topics`, topic by topic, in the order of (partition, offset)."""
        for topic in topics:
            yield from self._of_topic.get(topic, ())


NOTHING = Batch([], {})  # brings along what waits, and nothing new

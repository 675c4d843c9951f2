"""What the engine is given: decoded records with their places, and how far the batch goes."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from verdict.model.carried_state import CarriedState
from verdict.model.recorded_event import RecordedEvent
from verdict.wire.response import Response
from verdict.wire.spans import Partition, Span


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
    value: CarriedState | Unreadable | None


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

"""What a projection gets: decoded records with their positions, and the offsets of a batch."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

from verdict.model.integration import StateRecord
from verdict.model.message import Event
from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.projections.builtin.rows import OutcomeRow, RejectedCommand
from verdict.wire.partitions import OffsetRange, TopicPartition


@dataclass(frozen=True, slots=True)
class UnreadableRecord:
    """A record that could not be decoded, and why.

    `event` is (aggregate type, id, version) of an archived event.
    """

    error: str
    event: tuple[str, str, int] | None = None


@dataclass(frozen=True, slots=True)
class StateChange:
    """The new state of a key, None if it was removed; it may be unreadable."""

    key: str
    value: StateRecord | UnreadableRecord | None


class SkippedEvent(Event):
    """The payload of an event that a projection skips; only the aggregate's version advances."""


Record = RecordedEvent | OutcomeRow | RejectedCommand | StateChange


class Delivery(NamedTuple):
    """A decoded record and its position; an event also has the bytes of its value.

    A rejection that `policy_rejection` does not keep has no record.
    """

    topic: str
    partition: int
    offset: int
    record: Record | UnreadableRecord | None
    value: bytes | None = None


class ProjectionBatch:
    """The records within `spans` of any topics, each partition's in the order of its offsets."""

    def __init__(
        self, deliveries: Iterable[Delivery], spans: Mapping[TopicPartition, OffsetRange]
    ) -> None:
        self._spans = dict(spans)
        self._of_topic: dict[str, list[Delivery]] = defaultdict(list)
        for delivery in deliveries:
            self._of_topic[delivery.topic].append(delivery)
        for found in self._of_topic.values():
            found.sort(key=itemgetter(1, 2))

    def spans(self, topics: Iterable[str]) -> dict[TopicPartition, OffsetRange]:
        wanted = set(topics)
        return {place: span for place, span in self._spans.items() if place.topic in wanted}

    def deliveries(self, topics: Iterable[str]) -> Iterator[Delivery]:
        """Yield the records of `topics`, topic by topic, in the order of (partition, offset)."""
        for topic in topics:
            yield from self._of_topic.get(topic, ())


NOTHING = ProjectionBatch([], {})  # applies missing events that have come, and nothing new
ROWS = 5_000  # in one transaction, fewer if they are large
BYTES = 16 * 2**20


def batches(
    deliveries: Iterable[Delivery], spans: Mapping[TopicPartition, OffsetRange]
) -> Iterator[ProjectionBatch]:
    """Yield batches of one transaction each, whose spans make up `spans`."""
    reached, some, size = {place: span.start for place, span in spans.items()}, list[Delivery](), 0
    for delivery in deliveries:
        some.append(delivery)
        size += len(delivery.value or b"")
        if len(some) == ROWS or size >= BYTES:
            then = reached | {TopicPartition.of(d): d.offset + 1 for d in some}
            yield ProjectionBatch(
                some, {place: OffsetRange(reached[place], then[place]) for place in spans}
            )
            reached, some, size = then, [], 0
    yield ProjectionBatch(
        some, {place: OffsetRange(reached[place], span.end) for place, span in spans.items()}
    )

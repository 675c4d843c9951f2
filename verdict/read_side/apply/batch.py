"""What the engine is given: decoded records with their places, and how far the batch goes."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

from verdict.model.exchange import StateRecord
from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.projections.builtin.answered import OutcomeRow
from verdict.read_side.projections.builtin.rejected_command import RejectedCommand
from verdict.wire.partitions import OffsetRange, TopicPartition


@dataclass(frozen=True, slots=True)
class UnreadableRecord:
    """Stands for a record that could not be decoded, and says why.

    `event` says whose event lies there, (aggregate type, id, version), where it is known, as it is
    of archived ones.
    """

    error: str
    event: tuple[str, str, int] | None = None


@dataclass(frozen=True, slots=True)
class StateChange:
    """The whole state of a key as it is from now on; None when there is none any more.

    What cannot be decoded is a state of its key, too, which nobody knows.
    """

    key: str
    value: StateRecord | UnreadableRecord | None


Record = RecordedEvent | OutcomeRow | RejectedCommand | StateChange


class Delivery(NamedTuple):
    """A decoded record and its place.

    Of an event there are the bytes of its value, too; or its row in the archive, `row`, which has
    them. Of a response there is what `outcome` keeps: as the record, or from a worker as `row`. So
    it is with a rejection and `policy_rejection`; one that this does not keep has neither.
    """

    topic: str
    partition: int
    offset: int
    record: Record | UnreadableRecord | None
    value: bytes | None = None
    row: tuple[Any, ...] | None = None


class ProjectionBatch:
    """Records of any number of topics, each partition's in the order of its offsets.

    Args:
        deliveries: In any order; all that lie within `spans`.
        spans: What the batch covers, empty stretches too.
    """

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
        """Return what the batch covers of `topics`."""
        wanted = set(topics)
        return {place: span for place, span in self._spans.items() if place.topic in wanted}

    def deliveries(self, topics: Iterable[str]) -> Iterator[Delivery]:
        """Yield the records of `topics`, topic by topic, in the order of (partition, offset)."""
        for topic in topics:
            yield from self._of_topic.get(topic, ())


NOTHING = ProjectionBatch([], {})  # brings along what waits, and nothing new
ROWS = 5_000  # applied in one transaction, or less when they are large
BYTES = 16 * 2**20


def batches(
    deliveries: Iterable[Delivery], spans: Mapping[TopicPartition, OffsetRange]
) -> Iterator[ProjectionBatch]:
    """Yield batches of a transaction each, whose spans make up `spans`, one behind the other."""
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

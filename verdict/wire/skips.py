"""Places of the log that operators decided to skip, for readers; pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from verdict.wire.partitions import OffsetRange, TopicPartition


@dataclass(frozen=True)
class SkippedRanges:
    """The places, as spans of their partitions."""

    spans: Mapping[TopicPartition, tuple[OffsetRange, ...]] = field(default_factory=dict)

    @staticmethod
    def of(decided: Iterable[tuple[str, int, int, int]]) -> "SkippedRanges":
        """Return them from (topic, partition, offset, until), `until` left out."""
        spans: dict[TopicPartition, tuple[OffsetRange, ...]] = {}
        for topic, partition, offset, until in decided:
            place = TopicPartition(topic, partition)
            spans[place] = (*spans.get(place, ()), OffsetRange(offset, until))
        return SkippedRanges(spans)

    def holds(self, topic: str, partition: int, offset: int) -> bool:
        """Tell whether a place is one of them."""
        if not self.spans:
            return False
        spans = self.spans.get(TopicPartition(topic, partition), ())
        return any(span.start <= offset < span.end for span in spans)

    def count(self, place: TopicPartition, wanted: OffsetRange) -> int:
        """Return how many offsets of a span are passed over."""
        reached = count = 0
        for span in sorted(self.spans.get(place, ()), key=lambda span: span.start):
            start = max(span.start, wanted.start, reached)
            reached = max(start, min(span.end, wanted.end))
            count += reached - start
        return count

    def reached(self, place: TopicPartition, wanted: OffsetRange) -> int:
        """Return the first offset from a span's start on that is not passed over."""
        reached = wanted.start
        for span in sorted(self.spans.get(place, ()), key=lambda span: span.start):
            if span.start <= reached < span.end:
                reached = span.end
        return reached

    def condition(self) -> str:
        """Return what is true of a record that is there and passed over, as Spark's SQL."""
        each = (
            f"(topic = '{place.topic}' AND partition = {place.partition} "
            f"AND offset >= {span.start} AND offset < {span.end})"
            for place, spans in self.spans.items()
            for span in spans
        )
        return " OR ".join(each) or "false"


NOTHING_PASSED_OVER = SkippedRanges()

"""Places of the log that operators decided to skip, for readers; pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from verdict.wire.spans import Partition, Span


@dataclass(frozen=True)
class PassedOver:
    """The places, as spans of their partitions."""

    spans: Mapping[Partition, tuple[Span, ...]] = field(default_factory=dict)

    @staticmethod
    def of(decided: Iterable[tuple[str, int, int, int]]) -> "PassedOver":
        """Return them from (topic, partition, offset, until), `until` left out."""
        spans: dict[Partition, tuple[Span, ...]] = {}
        for topic, partition, offset, until in decided:
            place = Partition(topic, partition)
            spans[place] = (*spans.get(place, ()), Span(offset, until))
        return PassedOver(spans)

    def holds(self, topic: str, partition: int, offset: int) -> bool:
        """Tell whether a place is one of them."""
        if not self.spans:
            return False
        spans = self.spans.get(Partition(topic, partition), ())
        return any(span.start <= offset < span.end for span in spans)

    def count(self, place: Partition, wanted: Span) -> int:
        """Return how many offsets of a span are passed over."""
        reached = count = 0
        for span in sorted(self.spans.get(place, ()), key=lambda span: span.start):
            start = max(span.start, wanted.start, reached)
            reached = max(start, min(span.end, wanted.end))
            count += reached - start
        return count

    def reached(self, place: Partition, wanted: Span) -> int:
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


NOTHING_PASSED_OVER = PassedOver()

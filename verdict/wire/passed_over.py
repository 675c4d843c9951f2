"""Places of the log that people decided to pass over, for who reads it; pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from verdict.wire.decision import Decision
from verdict.wire.spans import Partition, Span


@dataclass(frozen=True)
class PassedOver:
    """The places, as spans of their partitions; and by which decisions aggregates are lost.

    Of `dropped` spans, which are among the others, Kafka had nothing any more: what an archive has
    of them counts.
    """

    spans: Mapping[Partition, tuple[Span, ...]] = field(default_factory=dict)
    dropped: Collection[tuple[Partition, Span]] = ()
    lost: Mapping[tuple[str, str], Sequence[Decision]] = field(default_factory=dict)

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

    def lost_versions(self) -> dict[tuple[str, str], int]:
        """Return up to which version each aggregate is lost that is."""
        return {key: self.lost_version(*key) for key in self.lost}

    def lost_version(self, aggregate_type: str, aggregate_id: str) -> int:
        """Return up to which version an aggregate is lost; 0 where it is not."""
        found = self.lost.get((aggregate_type, aggregate_id), ())
        return max((one.lost.version for one in found if one.lost), default=0)

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
            if (place, span) not in self.dropped
        )
        return " OR ".join(each) or "false"


NOTHING_PASSED_OVER = PassedOver()

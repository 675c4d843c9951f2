"""Decisions of operators on the skips topic, and the ranges of offsets that readers skip."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from verdict.model.message import Instant, OpenEnum
from verdict.model.source import Source
from verdict.wire.partitions import OffsetRange, TopicPartition


class Kind(StrEnum):
    """What was decided."""

    SKIPPED = "SKIPPED"
    """Readers leave out the records from `source` up to `until_offset`."""

    QUARANTINED = "QUARANTINED"
    """The decider goes on without an aggregate, whose history is damaged."""

    LIFTED = "LIFTED"
    """The history of a quarantined aggregate is whole again."""

    RESTORED = "RESTORED"
    """Events were appended to their topic again, from the archive."""

    ACCEPTED = "ACCEPTED"
    """A changed or new topic or partition is used as it is."""


@dataclass(frozen=True, slots=True)
class DamagedAggregate:
    """An aggregate with a damaged history: its first damaged and its greatest known version."""

    aggregate_type: str
    aggregate_id: str
    version: int
    last_version: int
    error: str

    @property
    def key(self) -> tuple[str, str]:
        return self.aggregate_type, self.aggregate_id

    def __str__(self) -> str:
        return f"{self.aggregate_type} {self.aggregate_id!r} from version {self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipRecord:
    """A decision with its operator, reason and time.

    It is about the records from `source` to before `until_offset`. One about a quarantine names the
    aggregate; its source is the position of the damage.
    """

    source: Source
    until_offset: int
    operator: str
    reason: str
    decided_at: Instant
    kind: Annotated[Kind, OpenEnum()] = Kind.SKIPPED
    aggregate: DamagedAggregate | None = None


Quarantines = Mapping[tuple[str, str], SkipRecord]
"""(Aggregate type, id) → the decision that quarantined it."""


def active_quarantines(decisions: Iterable[SkipRecord]) -> Quarantines:
    """Return the quarantines that no later decision has lifted."""
    active: dict[tuple[str, str], SkipRecord] = {}
    for one in decisions:
        if one.aggregate is None:
            continue
        if one.kind is Kind.QUARANTINED:
            active[one.aggregate.key] = one
        elif one.kind is Kind.LIFTED:
            active.pop(one.aggregate.key, None)
    return active


@dataclass(frozen=True)
class SkippedRanges:
    """The skipped ranges of offsets by partition."""

    spans: Mapping[TopicPartition, tuple[OffsetRange, ...]] = field(default_factory=dict)

    @staticmethod
    def of(decided: Iterable[tuple[str, int, int, int]]) -> "SkippedRanges":
        """Return the ranges of (topic, partition, first offset, offset after the last)."""
        spans: dict[TopicPartition, tuple[OffsetRange, ...]] = {}
        for topic, partition, offset, until in decided:
            place = TopicPartition(topic, partition)
            spans[place] = (*spans.get(place, ()), OffsetRange(offset, until))
        return SkippedRanges(spans)

    def holds(self, topic: str, partition: int, offset: int) -> bool:
        """Return whether a position is skipped."""
        if not self.spans:
            return False
        spans = self.spans.get(TopicPartition(topic, partition), ())
        return any(span.start <= offset < span.end for span in spans)

    def count(self, place: TopicPartition, wanted: OffsetRange) -> int:
        """Return how many offsets of a range are skipped."""
        reached = count = 0
        for span in sorted(self.spans.get(place, ()), key=lambda span: span.start):
            start = max(span.start, wanted.start, reached)
            reached = max(start, min(span.end, wanted.end))
            count += reached - start
        return count

    def reached(self, place: TopicPartition, wanted: OffsetRange) -> int:
        """Return the first offset of a range that is not skipped."""
        reached = wanted.start
        for span in sorted(self.spans.get(place, ()), key=lambda span: span.start):
            if span.start <= reached < span.end:
                reached = span.end
        return reached

    def condition(self) -> str:
        """Return the condition for skipped records in Spark's SQL."""
        each = (
            f"(topic = '{place.topic}' AND partition = {place.partition} "
            f"AND offset >= {span.start} AND offset < {span.end})"
            for place, spans in self.spans.items()
            for span in spans
        )
        return " OR ".join(each) or "false"


NOTHING_PASSED_OVER = SkippedRanges()

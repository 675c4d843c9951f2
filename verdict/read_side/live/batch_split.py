"""Who leads, who catches up with whom, and in which parts; pure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from verdict.wire.partitions import OffsetRange, Spans, TopicPartition

Reached = Mapping[TopicPartition, int]
"""The next offset in each partition that a projection follows; 0 where it has not been yet."""


class BatchSplit(NamedTuple):
    """Numbers of projections: those that lead, and those that go together behind them."""

    leading: list[int]
    cohorts: list[list[int]]


def lag(reached: Reached, ends: Mapping[TopicPartition, int]) -> int:
    """Return how many offsets lie between a projection and `ends`."""
    return sum(max(0, ends[place] - offset) for place, offset in reached.items())


def split(
    all_reached: Sequence[Reached], ends: Mapping[TopicPartition, int], near: int
) -> BatchSplit:
    """Tell those that are near the ends of the log from those that must be brought there.

    Who must be brought forward goes together with others that are near each of them, as far as
    they follow the same partitions: what several need is read once.
    """
    leading = [n for n, reached in enumerate(all_reached) if lag(reached, ends) <= near]
    cohorts: list[list[int]] = []
    for number, reached in enumerate(all_reached):
        if number in leading:
            continue
        for cohort in cohorts:
            if all(_agree(reached, all_reached[other], near) for other in cohort):
                cohort.append(number)
                break
        else:
            cohorts.append([number])
    return BatchSplit(leading, cohorts)


def split_start(
    leading: Sequence[Reached], ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Return where the live query begins: where the last of the leading is, else at the end."""
    return {
        place: min((reached[place] for reached in leading if place in reached), default=end)
        for place, end in ends.items()
    }


def next_part(cohort: Sequence[Reached], ends: Mapping[TopicPartition, int], most: int) -> Spans:
    """Return what a cohort is given next, nothing when all of it is there."""
    starts: dict[TopicPartition, int] = {}
    for reached in cohort:
        for place, offset in reached.items():
            starts[place] = min(offset, starts.get(place, offset))
    left = {place: start for place, start in starts.items() if start < ends[place]}
    size = max(1, most // len(left)) if left else 0
    return {
        place: OffsetRange(start, min(ends[place], start + size)) for place, start in left.items()
    }


def is_passed(reached: Reached, part: Spans) -> Reached:
    """Return where a projection is once it has a part behind it, of whatever it follows."""
    return {
        place: max(offset, part[place].end) if place in part else offset
        for place, offset in reached.items()
    }


def _agree(one: Reached, other: Reached, near: int) -> bool:
    return sum(abs(one[place] - other[place]) for place in one.keys() & other.keys()) <= near

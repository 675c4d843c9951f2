"""Positions in topics, as the marker and Spark's checkpoint know them."""

from collections.abc import Mapping, Sequence

Offsets = dict[str, list[int]]
AnyOffsets = Mapping[str, Sequence[int]]


def same(left: AnyOffsets, right: AnyOffsets) -> bool:
    """Tell whether both are the same position; a partition that is missing counts as 0.

    Args:
        left: Next offset by partition, by topic.
        right: The same.
    """
    return _advanced(left) == _advanced(right)


def going_back(start: AnyOffsets, end: AnyOffsets) -> list[str]:
    """Return the partitions, as `topic-number`, in which `end` lies before `start`."""
    ends = _advanced(end)
    return [
        f"{topic}-{partition}"
        for (topic, partition), offset in sorted(_advanced(start).items())
        if ends.get((topic, partition), 0) < offset
    ]


def shown(offsets: AnyOffsets) -> str:
    """Return the position for people: next offsets by partition, topics sorted."""
    return ", ".join(f"{topic} {list(offsets[topic])}" for topic in sorted(offsets)) or "nothing"


def _advanced(offsets: AnyOffsets) -> dict[tuple[str, int], int]:
    return {
        (topic, partition): offset
        for topic, by_partition in offsets.items()
        for partition, offset in enumerate(by_partition)
        if offset != 0
    }

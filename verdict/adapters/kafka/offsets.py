"""Offsets by topic, as the progress record and Spark's checkpoint have them."""

from collections.abc import Iterator, Mapping, Sequence

from verdict.model.source import Source
from verdict.wire.partitions import Spans, TopicPartition

Offsets = dict[str, list[int]]
TopicOffsets = Mapping[str, Sequence[int]]


def each_partition(offsets: TopicOffsets) -> Iterator[tuple[TopicPartition, int]]:
    """Yield the partitions with their next offsets."""
    for topic, by_partition in offsets.items():
        for number, offset in enumerate(by_partition):
            yield TopicPartition(topic, number), offset


def offsets_at(offsets: TopicOffsets, place: TopicPartition | Source) -> int:
    """Return the next offset of a partition, 0 where there is none."""
    by_partition = offsets.get(place.topic, ())
    return by_partition[place.partition] if place.partition < len(by_partition) else 0


def starts(spans: Spans) -> Offsets:
    """Return where the spans of all partitions of some topics begin."""
    return by_topic({place: span.start for place, span in spans.items()})


def ends(spans: Spans) -> Offsets:
    """Return where the spans of all partitions of some topics end."""
    return by_topic({place: span.end for place, span in spans.items()})


def same_offsets(left: TopicOffsets, right: TopicOffsets) -> bool:
    """Tell whether both are the same position; a partition that is missing counts as 0."""
    return _advanced(left) == _advanced(right)


def going_back(start: TopicOffsets, end: TopicOffsets) -> list[str]:
    """Return the partitions, as `topic-number`, in which `end` is before `start`."""
    reached = _advanced(end)
    return [
        f"{place.topic}-{place.partition}"
        for place, offset in sorted(_advanced(start).items())
        if reached.get(place, 0) < offset
    ]


def offsets_text(offsets: TopicOffsets) -> str:
    """Return the position as text: next offsets by partition, topics sorted."""
    return ", ".join(f"{topic} {list(offsets[topic])}" for topic in sorted(offsets)) or "nothing"


def by_topic(positions: Mapping[TopicPartition, int]) -> Offsets:
    """Return the offsets of all partitions of some topics, by topic."""
    found: Offsets = {}
    for place in sorted(positions):
        found.setdefault(place.topic, []).append(positions[place])
    return found


def _advanced(offsets: TopicOffsets) -> dict[TopicPartition, int]:
    return {place: offset for place, offset in each_partition(offsets) if offset != 0}

"""Which projections are brought forward together, in one process; pure.

Projections that have reached about the same offsets share what is read and decoded. One that is far
behind, such as a new one, is in another group: the others do not wait for it.
"""

from collections.abc import Mapping, Sequence

from verdict.wire.partitions import PartitionOffsets

NEAR = 100_000  # offsets, which are read again in some seconds


def grouped(
    reached: Mapping[str, PartitionOffsets], processes: int, near: int = NEAR
) -> list[list[str]]:
    """Return the groups; each projection is in one of them.

    Args:
        reached: The next offset in each partition that a projection follows, by projection.
        processes: Into so many groups those at about the same offsets are split.
        near: Offsets by which members of a group differ at most.
    """
    together: list[list[str]] = []
    for name, offsets in reached.items():
        for group in together:
            if all(distance(offsets, reached[other]) <= near for other in group):
                group.append(name)
                break
        else:
            together.append([name])
    return [part for group in together for part in _split(group, processes)]


def distance(one: PartitionOffsets, other: PartitionOffsets) -> int:
    """Return how many offsets two projections are apart, in the partitions that both follow."""
    return sum(abs(one[place] - other[place]) for place in one.keys() & other.keys())


def _split(names: Sequence[str], parts: int) -> list[list[str]]:
    return [part for at in range(parts) if (part := [*names[at::parts]])]

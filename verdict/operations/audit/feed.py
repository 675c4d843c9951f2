"""A feed of changes against the table that it must give; pure.

Which changes were announced depends on how batches were cut, so it is no function of the log. What
holds however they were: numbers without a gap, entered and left by turns, and H-08, that replaying
them gives who is in the table.
"""

from collections.abc import Iterable, Iterator, Set
from typing import NamedTuple

ENTERED, LEFT = "entered", "left"


class AnnouncedChanges(NamedTuple):
    """A change of a feed: its number, the group, and what happened to it."""

    seq: int
    group: str
    kind: str


def faults(changes: Iterable[AnnouncedChanges], last: int, shown: Set[str]) -> Iterator[str]:
    """Yield in words what is wrong with a feed."""
    reached, present = 0, set[str]()
    for seq, group, kind in changes:
        if seq != reached + 1:
            yield f"changes {reached + 1} to {seq - 1} are missing"
        reached = seq
        if kind not in (ENTERED, LEFT):
            yield f"change {seq}: {kind!r} is neither {ENTERED} nor {LEFT}"
        elif (kind == ENTERED) == (group in present):
            was = "is in" if group in present else "is not in"
            yield f"change {seq}: {group!r} {kind}, and by the changes before it {was}"
        (present.add if kind == ENTERED else present.discard)(group)
    if reached != last:
        yield f"the last change is {reached}, and {last} were announced"
    for group in sorted(present ^ shown):
        said = "is in, and not in the table" if group in present else "is not in, but in the table"
        yield f"by all changes {group!r} {said}"

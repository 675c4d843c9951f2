"""Events that Kafka lost at the end of a partition, and where readers go on after it; pure."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

Identity = tuple[str, str, int]
"""Aggregate type, aggregate id and version."""


class EventPlace(NamedTuple):
    """An event, the SHA-256 of its bytes in hexadecimal, and its offset in the partition.

    `identity` is None for a record that is no event of this topic.
    """

    identity: Identity | None
    hash: str
    offset: int


@dataclass(frozen=True)
class Restoration:
    """What the archive and Kafka hold of a partition, from the first lost event on.

    Args:
        start: The offset after the last event before the loss; what others appended lies above.
        archived: The archived events, by offset; the first one is lost.
        missing: Those of them that Kafka does not hold: they have to be appended.
        moved: The offset in Kafka by the archived offset, of the others.
        conflicts: Pairs of an archived event and one in Kafka with its version and other bytes.
        strangers: How many records of Kafka are none of the archived events.
    """

    start: int
    archived: Sequence[EventPlace]
    missing: Sequence[EventPlace]
    moved: Mapping[int, int]
    conflicts: Sequence[tuple[EventPlace, EventPlace]]
    strangers: int

    def position(self, next_offset: int) -> int:
        """Return where a reader goes on, once nothing is missing.

        It gets each event that it has not read. It reads events a second time only if somebody
        appended others between the loss and the restoration: then no position fits both.
        """
        if next_offset <= self.start:
            return next_offset
        if not self.is_in_order:
            return self.start
        if next_offset >= self._after[0]:
            return next_offset  # it was corrected before
        read = bisect_left(self._before, next_offset)
        return self._after[read] if read < len(self._after) else self._after[-1] + 1

    @cached_property
    def is_in_order(self) -> bool:
        """Whether the restored events follow on all that was read, in their order, and alone."""
        in_order = self._after == sorted(self._after)
        return not self.strangers and in_order and self._after[0] > self._before[-1]

    @cached_property
    def _before(self) -> list[int]:
        return [event.offset for event in self.archived]

    @cached_property
    def _after(self) -> list[int]:
        return [self.moved[event.offset] for event in self.archived]


def compare(start: int, archived: Sequence[EventPlace], kept: Iterable[EventPlace]) -> Restoration:
    """Return what has to be done so that Kafka holds each archived event of a partition."""
    lost = {event.identity: event for event in archived}
    found: dict[Identity | None, EventPlace] = {}
    conflicts, strangers = [], 0
    for event in kept:
        same = lost.get(event.identity)
        if same is None:
            strangers += 1
        elif same.hash != event.hash:
            conflicts.append((same, event))
        else:
            found.setdefault(event.identity, event)
    return Restoration(
        start=start,
        archived=archived,
        missing=[event for event in archived if event.identity not in found],
        moved={
            event.offset: found[event.identity].offset
            for event in archived
            if event.identity in found
        },
        conflicts=conflicts,
        strangers=strangers,
    )

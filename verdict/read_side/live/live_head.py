"""How far the live query is, and who waits to be taken along by its next batch."""

import threading
import time
from collections.abc import Mapping, Sequence

from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import NOTHING
from verdict.read_side.live.batch_split import lag
from verdict.wire.partitions import Spans, TopicPartition

GRACE_S = 1.0  # from one batch to the next, as long as records keep coming

Group = Sequence[Applier]


def reached_by(applier: Applier, places: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Return the next offset of an applier in those of `places` that it follows."""
    return {
        place: applier.positions.get(place, 0) for place in places if place.topic in applier.topics
    }


class LiveHead:
    """Where the next batch of the live query starts; whoever is near that may join it.

    Appliers are used by one thread at a time: by that of their group until `join` returns True,
    from then on by the live query's.

    Args:
        offsets: Where the first batch starts, for each partition.
        near: How many offsets a group may be behind when it joins; the live query reads them.
        pause_s: What passes between two batches at least, in seconds.
    """

    def __init__(
        self, offsets: Mapping[TopicPartition, int], near: int, pause_s: float = 0
    ) -> None:
        self._offsets = dict(offsets)
        self._near = near
        self._grace_s = pause_s + GRACE_S
        self._changed = threading.Condition()
        self._waiting: list[Group] = []
        self._in_batch = False
        self._idle_since = time.monotonic()
        self._closed = False

    @property
    def offsets(self) -> Mapping[TopicPartition, int]:
        """Where the next batch starts."""
        with self._changed:
            return self._offsets

    @property
    def is_closed(self) -> bool:
        """Whether the live query ends."""
        return self._closed

    def begin_batch(self, spans: Spans) -> list[Applier]:
        """Note that a batch begins, and return who is to be taken along by it."""
        with self._changed:
            ends = {place: span.end for place, span in spans.items()}
            self._offsets, self._in_batch = self._offsets | ends, True
            joining = [applier for group in self._waiting for applier in group]
            self._waiting = []
            self._changed.notify_all()
            return joining

    def end_batch(self) -> None:
        """Note that the batch is applied."""
        with self._changed:
            self._in_batch, self._idle_since = False, time.monotonic()
            self._changed.notify_all()

    def close(self) -> None:
        """Let nobody join any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def join(self, group: Group) -> bool:
        """Wait for the next batch, and return True when it has taken the group along.

        Records that keep coming bring a next batch soon, however small the group's part is in
        reaching the front by itself; so it always gets there. When none come, who is level waits
        for the next one, and who is not is sent back to read what is left.
        """
        with self._changed:
            behind = max(lag(reached_by(one, self._offsets), self._offsets) for one in group)
            if behind > self._near:
                return False
            self._waiting.append(group)
            while group in self._waiting and not self._closed:
                patience = self._idle_since + self._grace_s - time.monotonic()
                if not behind or self._in_batch:
                    self._changed.wait()
                elif patience > 0:
                    self._changed.wait(patience)
                else:
                    break
            if group not in self._waiting:
                return True
            self._waiting.remove(group)
            return False


def apply_rest(applier: Applier, front: LiveHead) -> None:
    """Apply the rest of what came for held aggregates: nobody knows when a batch follows."""
    while applier.released and not front.is_closed:
        applier.follow(NOTHING)

"""How long commands waited for their answers: from Kafka's time of each to the commit of its batch.

A worker samples when the commands of a batch reached Kafka. The driver knows when they are
answered, and keeps the times in memory. The clocks of broker and driver are compared, with their
difference.
"""

from array import array
from collections import deque
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from verdict.settings.discovery import Latency

if TYPE_CHECKING:
    import pyarrow as pa

MOST = 128  # times of a shard and batch
MINUTE_MS = 60_000
MINUTES = 3 * 60


def packed_sample(arrived: "array[int]") -> bytes | None:
    """Return how many commands arrived, and the times of at most `MOST` of them."""
    stride = -(-len(arrived) // MOST)
    return array("q", [len(arrived), *arrived[::stride]]).tobytes() if arrived else None


class WaitedTime(NamedTuple):
    """How long a command of the sample waited; it represents `weight` commands."""

    millis: int
    weight: float
    answered_at: int


def waited_times(table: "pa.Table", now: int) -> list[WaitedTime]:
    """Return the sample in a table of `DECIDED_SCHEMA`; both ends have one byte order."""
    return [
        WaitedTime(max(0, now - millis), commands / len(sample), now)
        for packed in table["arrived"].drop_null().to_pylist()
        for commands, *sample in [array("q", packed)]
        for millis in sample
    ]


class Latencies:
    """Takes in what was published on Spark's thread, and is read on another one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._begun = 0  # the present minute
        self._present: list[WaitedTime] = []
        self._previous: list[WaitedTime] = []
        self._minutes: deque[Latency] = deque(maxlen=MINUTES)

    def note(self, waited: Sequence[WaitedTime], now: int) -> None:
        """Take in a batch that was published just now."""
        with self._lock:
            self._close(now)
            self._present += waited

    def of_last_minute(self, now: int) -> Latency | None:
        """Return the latency of the last 60 s; None: no command was answered."""
        with self._lock:
            recent = (*self._previous, *self._present)
        return _summed(now, [one for one in recent if one.answered_at > now - MINUTE_MS])

    def minutes(self, now: int) -> tuple[Latency, ...]:
        """Return the latency of each whole minute of the last hours with answers."""
        with self._lock:
            self._close(now)
            return tuple(self._minutes)

    def _close(self, now: int) -> None:
        """Sum up the present minute if it is over."""
        minute = now // MINUTE_MS * MINUTE_MS
        if minute <= self._begun:
            return
        if latency := _summed(self._begun, self._present):
            self._minutes.append(latency)
        self._previous, self._present, self._begun = self._present, [], minute


def _summed(at: int, waited: Sequence[WaitedTime]) -> Latency | None:
    if not waited:
        return None
    in_order = sorted(waited)
    return Latency(
        at=at,
        commands=round(sum(one.weight for one in waited)),
        p50_ms=_quantile(in_order, 0.5),
        p99_ms=_quantile(in_order, 0.99),
        most_ms=in_order[-1].millis,
    )


def _quantile(waited: Sequence[WaitedTime], part: float) -> int:
    """Return within which time that part of the commands was answered."""
    left = part * sum(one.weight for one in waited)
    for one in waited:
        left -= one.weight
        if left <= 0:
            return one.millis
    return waited[-1].millis

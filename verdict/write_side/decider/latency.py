"""How long commands waited for their answers: from Kafka's time of each to the commit of its batch.

Kept in memory, from a sample of each batch; a service that starts begins anew. Two clocks are
compared, the broker's and this one's, so what they differ by is in it.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import NamedTuple

from verdict.settings.discovery import Latency
from verdict.write_side.processor.latency_sample import BatchArrival

MINUTE_MS = 60_000
HOURS = 3


class WaitedTimes(NamedTuple):
    """For how many milliseconds a command waited, which stands for `weight` commands."""

    millis: int
    weight: float


class Latencies:
    """Takes in what was published, on Spark's thread, and tells of it on another one's."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._recent: deque[tuple[int, int, Sequence[WaitedTimes]]] = deque()
        self._minutes: deque[Latency] = deque(maxlen=HOURS * 60)

    def note(self, arrivals: Iterable[BatchArrival], now: int) -> None:
        """Take in a batch that was published just now."""
        waited = [
            WaitedTimes(max(0, now - millis), one.commands / len(one.millis))
            for one in arrivals
            for millis in one.millis
        ]
        commands = round(sum(one.weight for one in waited))
        with self._lock:
            self._close(now)
            if commands:
                self._recent.append((now, commands, waited))

    def of_last_minute(self, now: int) -> Latency | None:
        """Return how long those waited that were answered in the last 60 s; None: nobody was."""
        with self._lock:
            return _summed(now, [one for one in self._recent if one[0] > now - MINUTE_MS])

    def minutes(self, now: int) -> tuple[Latency, ...]:
        """Return the same of each whole minute of the last hours in which anybody was answered."""
        with self._lock:
            self._close(now)
            return tuple(self._minutes)

    def _close(self, now: int) -> None:
        """Sum up the minutes that are over, and let go what is older than a minute."""
        begun = now // MINUTE_MS * MINUTE_MS
        summed = self._minutes[-1].at + MINUTE_MS if self._minutes else 0
        over = [one for one in self._recent if summed <= one[0] < begun]
        for minute in sorted({at // MINUTE_MS for at, _, _ in over}):
            of_it = [one for one in over if one[0] // MINUTE_MS == minute]
            if (latency := _summed(minute * MINUTE_MS, of_it)) is not None:
                self._minutes.append(latency)
        while self._recent and self._recent[0][0] < begun - MINUTE_MS:
            self._recent.popleft()


def _summed(at: int, batches: Sequence[tuple[int, int, Sequence[WaitedTimes]]]) -> Latency | None:
    waited = sorted(one for _, _, of_batch in batches for one in of_batch)
    if not waited:
        return None
    commands = sum(count for _, count, _ in batches)
    return Latency(
        at=at,
        commands=commands,
        p50_ms=_quantile(waited, 0.5),
        p99_ms=_quantile(waited, 0.99),
        most_ms=waited[-1].millis,
    )


def _quantile(waited: Sequence[WaitedTimes], part: float) -> int:
    """Return within which time that part of the commands was answered."""
    left = part * sum(one.weight for one in waited)
    for one in waited:
        left -= one.weight
        if left <= 0:
            return one.millis
    return waited[-1].millis

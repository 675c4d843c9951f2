"""How long commands waited for their answers: from Kafka's time of each to the commit of its batch.

A worker samples when the commands of a batch arrived. The driver knows when they are answered, and
keeps the times in memory. The clocks of broker and driver are compared, with their difference.
"""

from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from verdict.settings.discovery import Latency
from verdict.wire.command_record import CommandRecord

if TYPE_CHECKING:
    import pyarrow as pa

MOST = 128  # times of a shard and batch
MINUTE_MS = 60_000
HOURS = 3


class BatchArrival(NamedTuple):
    """How many commands arrived, and a sample of their times in epoch milliseconds."""

    commands: int
    millis: Sequence[int]


class LatencySampler:
    """Takes every command's time, then every second one's, and so on: never more than `MOST`."""

    def __init__(self) -> None:
        self._commands = 0
        self._stride = 1
        self._millis = array("q")

    def watch(self, records: Iterable[CommandRecord]) -> Iterator[CommandRecord]:
        """Yield the records."""
        for number, record in enumerate(records):
            if number % self._stride == 0:
                self._take(record.timestamp)
            self._commands = number + 1
            yield record

    def _take(self, millis: int) -> None:
        if len(self._millis) == MOST:
            self._millis = self._millis[::2]
            self._stride *= 2
        self._millis.append(millis)

    def packed(self) -> bytes | None:
        """Return all of it; None without a command."""
        return array("q", [self._commands, *self._millis]).tobytes() if self._commands else None


def arrivals_of(table: "pa.Table") -> Iterator[BatchArrival]:
    """Yield the arrivals in a table of `DECIDED_SCHEMA`; both ends have one byte order."""
    for packed in table["arrived"].drop_null().to_pylist():
        commands, *millis = array("q", packed)
        yield BatchArrival(commands, array("q", millis))


class WaitedTimes(NamedTuple):
    """How long a command of the sample waited; it stands for `weight` commands."""

    millis: int
    weight: float


class Latencies:
    """Takes in what was published on Spark's thread, and is read on another one."""

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
        """Return the latency of the last 60 s; None: no command was answered."""
        with self._lock:
            return _summed(now, [one for one in self._recent if one[0] > now - MINUTE_MS])

    def minutes(self, now: int) -> tuple[Latency, ...]:
        """Return the latency of each whole minute of the last hours with answers."""
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

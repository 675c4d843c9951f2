"""Samples of the status over the last hours, for charts; in memory, so a restart has none."""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from starlette.concurrency import run_in_threadpool

from verdict.adapters.sql.time_text import wall_clock
from verdict.errors import VerdictError
from verdict.operations.status.sampler import Lag, StatusSample
from verdict.settings.discovery import Latency

EVERY_S = 30.0
HOURS = 3
KEPT_MS = (HOURS * 60 + 1) * 60_000  # also of the minute before the first one that is shown
LOG = logging.getLogger("verdict.http")


class Sample(NamedTuple):
    """The ends of the commands topics and the lags at a time (epoch milliseconds)."""

    at: int
    sent: int | None
    parts: Mapping[str, Lag]


class Samples:
    """Takes samples by `look`; safe between threads. `clock` returns epoch milliseconds."""

    def __init__(
        self, look: Callable[[], StatusSample], clock: Callable[[], int] = wall_clock
    ) -> None:
        self._look = look
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: deque[Sample] = deque()
        self._latencies: dict[int, Latency] = {}

    def take(self) -> None:
        """Take a sample.

        Raises:
            VerdictError: As `StatusSampler.look`.
        """
        look = self._look()
        found, at = look.standing, self._clock()
        commands = found.commands
        sent = sum(one.end for one in commands) if commands else None
        latencies = found.service.latencies if found.service else ()
        with self._lock:
            self._kept.append(Sample(at, sent, look.parts))
            self._latencies |= {one.at: one for one in latencies}
            self._forget(at - KEPT_MS)

    def _forget(self, before: int) -> None:
        while self._kept[0].at < before:
            self._kept.popleft()
        for at in [one for one in self._latencies if one < before]:
            del self._latencies[at]

    def kept(self) -> list[Sample]:
        """Return the samples of the last hours, the oldest first."""
        with self._lock:
            return [*self._kept]

    def latencies(self) -> Mapping[int, Latency]:
        """Return the latency of each minute, by its start; also of services that ran earlier."""
        with self._lock:
            return dict(self._latencies)


async def keep_sampling(samples: Samples) -> None:
    """Take samples until this is cancelled; one that fails leaves a gap."""
    while True:
        await asyncio.sleep(EVERY_S)
        try:
            await run_in_threadpool(samples.take)
        except VerdictError as error:
            LOG.debug("no sample for the charts: %s", error)  # every page shows it, too

"""Samples of the status: how far each component is behind, since when it is still, and its rate.

These follow from earlier samples, so they are known from the second sample on. Samples of the last
hours are kept for charts, in memory: a restart has none.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

from verdict.adapters.sql.time_text import wall_clock
from verdict.operations.status.problems import no_progress, unready
from verdict.operations.status.status import Problem, StatusReport, total
from verdict.settings.discovery import Latency
from verdict.streaming.exactly_once.query import DECIDER

FRESH_S = 1.0  # a younger sample is used again
KEPT = 400  # samples: some 15 minutes of a page that is open
RATE_S = 10.0
HOURS = 3
KEPT_MS = (HOURS * 60 + 1) * 60_000  # also of the minute before the first one that is shown


Progress = tuple[int | None, int | None]
"""How many offsets a component has come by, and how many wait for it; None: unknown."""


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a component is behind.

    `seconds`: since when what it has not read was there, as the samples saw the ends of its topics.
    `still_s`: for how long it took nothing while something waited. `rate`: offsets a second.
    """

    reached: int | None
    waiting: int | None
    seconds: float | None
    still_s: float
    rate: float | None


@dataclass(frozen=True, slots=True)
class StatusSample:
    """The status at one time, and the lag of each component by its name."""

    at: float
    standing: StatusReport
    parts: Mapping[str, Lag]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All that needs attention."""
        still = (no_progress(name, one.still_s, one.waiting) for name, one in self.parts.items())
        return (*self.standing.problems, *chain.from_iterable(still))

    @property
    def unready(self) -> tuple[str, ...]:
        """Why commands are not decided now; empty if they are."""
        return (*unready(self.standing, self.problems),)

    @property
    def colour(self) -> str:
        """`red` if no command is decided, `amber` if something needs attention, or `green`."""
        return "red" if self.unready else "amber" if self.problems else "green"


Lags = list[tuple[float, Lag]]


class StatusSampler:
    """Takes a sample when it is asked; safe between threads."""

    def __init__(
        self, look: Callable[[], StatusReport], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._look = look
        self._clock = clock
        self._lock = threading.Lock()
        self._samples: deque[StatusSample] = deque(maxlen=KEPT)

    def look(self) -> StatusSample:
        """Return the newest sample, which is a second old at most."""
        with self._lock:
            if self._samples and self._clock() - self._samples[-1].at < FRESH_S:
                return self._samples[-1]
            found = self._look()
            progress, at = progress_of(found), self._clock()
            parts = {name: self._lag(name, one, at) for name, one in progress.items()}
            self._samples.append(StatusSample(at, found, parts))
            return self._samples[-1]

    def _lag(self, name: str, progress: Progress, at: float) -> Lag:
        before = [(each.at, one) for each in self._samples if (one := each.parts.get(name))]
        reached, waiting = progress
        found = Lag(reached, waiting, None, 0.0, None)
        if reached is None or waiting is None:
            return found
        return replace(
            found,
            seconds=_seconds(reached, before, at) if waiting > 0 else 0.0,
            still_s=_still_s(found, before, at),
            rate=_rate(reached, before, at),
        )


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
        """Take a sample; raises as `StatusSampler.look`."""
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


def progress_of(found: StatusReport) -> dict[str, Progress]:
    """Return how far each component has come."""
    progress: dict[str, Progress] = {}
    if found.commands is not None:
        lag = total(one.lag for one in found.commands)
        progress[DECIDER] = (sum(one.decided for one in found.commands), lag)
    for processor in found.processors or ():
        progress[processor.processor] = (processor.reached, processor.lag)
    for shown in found.projections or ():
        if shown.state == "live":
            reached = sum(one.next_offset for one in shown.positions)
            progress[shown.projection] = (reached, shown.lag)
    if found.dead_letters is not None:
        progress["dead-letters"] = (None, found.dead_letters.lag)
    return progress


def _seconds(reached: int, before: Lags, at: float) -> float | None:
    """Return how long ago the end was where the component is now, or the age of all samples."""
    for then, one in reversed(before):
        if (one.reached or 0) + (one.waiting or 0) <= reached:
            return at - then
    return at - before[0][0] if before else None


def _still_s(found: Lag, before: Lags, at: float) -> float:
    since = at
    for then, one in reversed(before):
        if one.reached != found.reached or not one.waiting or not found.waiting:
            break
        since = then
    return at - since


def _rate(reached: int, before: Lags, at: float) -> float | None:
    for then, one in reversed(before):
        if at - then >= RATE_S or then == before[0][0]:
            if one.reached is None or at <= then:
                return None
            return max(0, reached - one.reached) / (at - then)
    return None

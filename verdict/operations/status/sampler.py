"""Looks again and again: how far each part is behind, since when it takes nothing, how fast it is.

What a look alone cannot tell comes from the looks before it, so it is told from the second one on.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

from verdict.operations.status.problems import no_progress, unready
from verdict.operations.status.status import Problem, ProjectionStatus, StatusReport, total
from verdict.service.directories import DECIDER

FRESH_S = 1.0  # a look that is younger is given to the next who asks
KEPT = 400  # looks: some 15 minutes of a page that is open
RATE_S = 10.0


class Progress(NamedTuple):
    """How many offsets a part has come by, and how many wait for it; None: unknown."""

    reached: int | None
    waiting: int | None


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a part is behind.

    `seconds` is since when, as the looks saw the end of its topics, what it has not got is there;
    `still_s` for how long nothing was taken while something waited; `rate` in offsets a second.
    """

    reached: int | None
    waiting: int | None
    seconds: float | None
    still_s: float
    rate: float | None


@dataclass(frozen=True, slots=True)
class StatusSample:
    """What is known at one time: what `verdict status` says, and each part's way by its name."""

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
        """Why commands are not decided now; empty when they are."""
        return (*unready(self.standing, self.problems),)

    @property
    def colour(self) -> str:
        """`red` when no command is decided, `amber` when something needs attention, or `green`."""
        return "red" if self.unready else "amber" if self.problems else "green"


class StatusSampler:
    """Looks when it is asked; safe between threads.

    Args:
        look: Returns how far everything has come.
        clock: Seconds that never go back.
    """

    def __init__(
        self, look: Callable[[], StatusReport], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._look = look
        self._clock = clock
        self._lock = threading.Lock()
        self._looks: deque[StatusSample] = deque(maxlen=KEPT)

    def look(self) -> StatusSample:
        """Return what is known now, or was a second ago.

        Raises:
            VerdictError: The service's own announcement is damaged.
        """
        with self._lock:
            if self._looks and self._clock() - self._looks[-1].at < FRESH_S:
                return self._looks[-1]
            found = self._look()
            places, at = places_of(found), self._clock()
            parts = {name: self._behind(name, place, at) for name, place in places.items()}
            self._looks.append(StatusSample(at, found, parts))
            return self._looks[-1]

    def _behind(self, name: str, place: Progress, at: float) -> Lag:
        before = [(look.at, one) for look in self._looks if (one := look.parts.get(name))]
        found = Lag(*place, None, 0.0, None)
        if place.reached is None or place.waiting is None:
            return found
        seconds = _seconds(place.reached, before, at) if place.waiting > 0 else 0.0
        return replace(
            found,
            seconds=seconds,
            still_s=_still_s(found, before, at),
            rate=_rate(found, before, at),
        )


def places_of(found: StatusReport) -> dict[str, Progress]:
    """Return how far each part has come: the decider, what runs beside it, what readers see."""
    places: dict[str, Progress] = {}
    if found.commands is not None:
        lags = total(one.lag for one in found.commands)
        places[DECIDER] = Progress(sum(one.decided for one in found.commands), lags)
    for beside in found.processors or ():
        places[beside.processor] = Progress(beside.reached, beside.lag)
    for shown in found.projections or ():
        if shown.state == "live":
            places[shown.projection] = Progress(_reached(shown), shown.lag)
    if found.dead_letters is not None:
        places["dead-letters"] = Progress(None, found.dead_letters.lag)
    return places


def _reached(shown: ProjectionStatus) -> int:
    return sum(one.next_offset for one in shown.positions)


def _seconds(reached: int, before: list[tuple[float, Lag]], at: float) -> float | None:
    """Return how long ago the end was where the part is now; at least so long, if never seen.

    None: nobody looked before.
    """
    for then, one in reversed(before):
        if (one.reached or 0) + (one.waiting or 0) <= reached:
            return at - then
    return at - before[0][0] if before else None


def _still_s(found: Lag, before: list[tuple[float, Lag]], at: float) -> float:
    since = at
    for then, one in reversed(before):
        if one.reached != found.reached or not one.waiting or not found.waiting:
            break
        since = then
    return at - since


def _rate(found: Lag, before: list[tuple[float, Lag]], at: float) -> float | None:
    """Return offsets a second over the last seconds."""
    for then, one in reversed(before):
        if at - then >= RATE_S or then == before[0][0]:
            if found.reached is None or one.reached is None or at <= then:
                return None
            return max(0, found.reached - one.reached) / (at - then)
    return None

"""The clock that due times are compared with: one that does not leap ahead."""

import time
from collections.abc import Callable

LEAP_S = 1.0  # what is more than this ahead of the time that has really passed
BELIEVED_AFTER_S = 60.0


def steady_s() -> float:
    """Return seconds that nobody can set, those in which the machine slept included."""
    sleeps_too = getattr(time, "CLOCK_BOOTTIME", None)  # Linux
    return time.monotonic() if sleeps_too is None else time.clock_gettime(sleeps_too)


class Clock:
    """The wall clock, held against one that nobody can set.

    Set back, the wall clock is followed at once, so nothing is due that was not. Set forward, it is
    believed after it has stayed ahead for a minute: until then time passes as it did before, so a
    leap that is taken back makes nothing due.

    Args:
        wall: Seconds since 1970.
        steady: Seconds since whenever.
    """

    def __init__(
        self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = steady_s
    ) -> None:
        self._wall = wall
        self._steady = steady
        self._trusted = wall(), steady()
        self._leapt_at: float | None = None

    def now(self) -> int:
        """Return epoch milliseconds."""
        wall, steady = self._wall(), self._steady()
        then, since = self._trusted
        passed = then + (steady - since)
        if wall <= passed + LEAP_S:
            self._leapt_at = None
        else:
            self._leapt_at = steady if self._leapt_at is None else self._leapt_at
            if steady - self._leapt_at < BELIEVED_AFTER_S:
                return int(passed * 1000)
        self._trusted, self._leapt_at = (wall, steady), None
        return int(wall * 1000)

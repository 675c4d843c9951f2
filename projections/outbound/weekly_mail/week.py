"""ISO weeks, and the time up to which a week counts."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from verdict.errors import VerdictError
from verdict.model import iso_time

WEEK = re.compile(r"(\d{4})-W(\d{2})", re.ASCII)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, order=True, slots=True)
class Week:
    """A week of ISO 8601, from Monday on; week 1 of a year contains January 4."""

    year: int
    number: int

    @property
    def cut_off(self) -> int:
        """Monday 00:00 UTC after the week, in epoch milliseconds: what is later does not count."""
        monday = datetime.fromisocalendar(self.year, self.number, 1).replace(tzinfo=UTC)
        return (monday + timedelta(days=7) - EPOCH) // timedelta(milliseconds=1)

    def require_over(self, now: int) -> None:
        """Return if the cut-off has passed at `now` (epoch milliseconds)."""
        if now < self.cut_off:
            raise VerdictError(
                f"{self} is not over: its cut-off is {iso_time(self.cut_off)}, and it is "
                f"{iso_time(now)} now; run this again after the cut-off"
            )

    def __str__(self) -> str:
        return f"{self.year:04}-W{self.number:02}"


def parse_week(text: str) -> Week:
    """Read a week such as `2026-W47`; a ValueError says that there is none."""
    found = WEEK.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not an ISO week such as 2026-W47")
    week = Week(int(found[1]), int(found[2]))
    try:
        _ = week.cut_off
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text} is not a week of the calendar: {error}") from error
    return week


def last_week(now: int) -> Week:
    """Return the newest week that is over at `now` (epoch milliseconds)."""
    year, number, _ = (EPOCH + timedelta(milliseconds=now, days=-7)).isocalendar()
    return Week(year, number)

"""ISO weeks, and the moment up to which a week counts."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from verdict.errors import VerdictError
from verdict.model.message import END_OF_TIME, iso_time

WEEK = re.compile(r"(\d{4})-W(\d{2})", re.ASCII)
EPOCH = date(1970, 1, 1)
DAY_MS = 86_400_000


@dataclass(frozen=True, order=True, slots=True)
class Week:
    """A week of ISO 8601, from Monday on; the one with January 4 in it is week 1 of that year."""

    year: int
    number: int

    @property
    def cut_off(self) -> int:
        """Monday 00:00 UTC after the week, in epoch milliseconds: what is later counts no more."""
        monday = date.fromisocalendar(self.year, self.number, 1)
        return ((monday - EPOCH).days + 7) * DAY_MS

    def see_that_it_is_over(self, now: int) -> None:
        """Return when the cut-off has passed at `now` (epoch milliseconds).

        Raises:
            NotOver: It has not.
        """
        if now < self.cut_off:
            raise NotOver(self, now)

    def __str__(self) -> str:
        return f"{self.year:04}-W{self.number:02}"


class NotOver(VerdictError):
    """Who gets a mail for a week cannot be told before the week is over."""

    def __init__(self, week: Week, now: int) -> None:
        super().__init__(
            f"{week} is not over: its cut-off is {iso_time(week.cut_off)}, and it is "
            f"{iso_time(now)} now; run this again when that has passed"
        )


def parse_week(text: str) -> Week:
    """Read a week such as `2026-W47`.

    Raises:
        ValueError: It is none, or its year has no such week.
    """
    found = WEEK.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no ISO week such as 2026-W47")
    week = Week(int(found[1]), int(found[2]))
    if week.cut_off > END_OF_TIME:
        raise ValueError(f"{text} ends behind the last time that databases know")
    return week


def last_week(now: int) -> Week:
    """Return the newest week that is over at `now` (epoch milliseconds)."""
    before = datetime.fromtimestamp(now // 1000, UTC) - timedelta(days=7)
    year, number, _ = before.isocalendar()
    return Week(year, number)

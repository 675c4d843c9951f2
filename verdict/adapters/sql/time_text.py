"""Times as databases have them, as texts or as their own type; and the clock."""

import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from verdict.model.message import calendar_time, epoch_millis

EPOCH = datetime.fromtimestamp(0, UTC)
MILLISECOND = timedelta(milliseconds=1)
SECONDS = len("2026-11-21T12:00:00")


def wall_clock() -> int:
    """Return now in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def text_of(millis: int) -> str:
    """Return epoch milliseconds as ISO 8601 in UTC; texts sort as the times do."""
    second, rest = divmod(millis, 1000)
    return f"{_second(second)}{rest:03}Z"


def time_of(value: datetime | str) -> int:
    """Return a time, as a database of either kind gives it, in epoch milliseconds."""
    if isinstance(value, datetime):
        return (value - EPOCH) // MILLISECOND
    return _millis_at(value[:SECONDS]) + int(value[SECONDS + 1 : -1])


@lru_cache(maxsize=4096)
def _second(second: int) -> str:
    """Return all but the milliseconds of a time's text."""
    return calendar_time(second * 1000).removesuffix("000Z")


@lru_cache(maxsize=4096)
def _millis_at(second: str) -> int:
    millis: int = epoch_millis(f"{second}Z")
    return millis

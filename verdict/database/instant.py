"""A column type for times: epoch milliseconds in Python, what people can read in the database."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import TIMESTAMP, Dialect, Text
from sqlalchemy.types import TypeDecorator, TypeEngine

from verdict.model.message import calendar_time, epoch_millis

EPOCH = datetime.fromtimestamp(0, UTC)
MILLISECOND = timedelta(milliseconds=1)
SECONDS = len("2026-11-21T12:00:00")


@lru_cache(maxsize=4096)
def _second(second: int) -> str:
    """Return all but the milliseconds of a time's text; the times of a batch share few seconds."""
    return calendar_time(second * 1000).removesuffix("000Z")


@lru_cache(maxsize=4096)
def _millis_at(second: str) -> int:
    """Return the epoch milliseconds of what `_second` returned, but for the last character."""
    millis: int = epoch_millis(f"{second}Z")
    return millis


class InstantType(TypeDecorator[int]):
    """Epoch milliseconds as TIMESTAMPTZ on PostgreSQL, else as ISO 8601 text in UTC.

    The text always has milliseconds and a Z (`2026-11-21T12:00:00.123Z`), so that texts sort as
    the times do, and `min` and `max` of a column are right.
    """

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the type that the database knows."""
        known = TIMESTAMP(timezone=True) if dialect.name == "postgresql" else Text()
        return dialect.type_descriptor(known)

    def process_bind_param(self, value: int | None, dialect: Dialect) -> Any:
        """Return `value` as the database takes it."""
        if value is None:
            return None
        if dialect.name == "postgresql":
            return EPOCH + value * MILLISECOND
        second, millis = divmod(value, 1000)
        return f"{_second(second)}{millis:03}Z"

    def process_result_value(self, value: Any, dialect: Dialect) -> int | None:
        """Return what the database gave as epoch milliseconds."""
        return None if value is None else time_of(value)


def time_of(value: datetime | str) -> int:
    """Return a time, as a database of either kind gives it, in epoch milliseconds."""
    if isinstance(value, datetime):
        return (value - EPOCH) // MILLISECOND
    return _millis_at(value[:SECONDS]) + int(value[SECONDS + 1 : -1])

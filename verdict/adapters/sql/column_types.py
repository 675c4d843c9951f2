"""Column types that both kinds of database have: times and JSON."""

from typing import Any

from sqlalchemy import TIMESTAMP, Dialect, Text
from sqlalchemy.types import TypeDecorator, TypeEngine

from verdict.adapters.sql.time_text import EPOCH, MILLISECOND, text_of, time_of


class InstantType(TypeDecorator[int]):
    """A time: epoch milliseconds in Python.

    TIMESTAMPTZ on PostgreSQL, else ISO 8601 text in UTC, which sorts as the times do.
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
        return text_of(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> int | None:
        """Return what the database gave as epoch milliseconds."""
        return None if value is None else time_of(value)


class JsonType(TypeDecorator[str]):
    """JSON that Python has as text: JSONB on PostgreSQL, else text."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the type that the database knows."""
        if dialect.name != "postgresql":
            return dialect.type_descriptor(Text())
        from sqlalchemy.dialects.postgresql import JSONB  # slow to import

        return dialect.type_descriptor(JSONB())

"""JSON in a column that Python has as text."""

from typing import Any

from sqlalchemy import Dialect, Text
from sqlalchemy.types import TypeDecorator, TypeEngine


class JsonType(TypeDecorator[str]):
    """JSONB on PostgreSQL, else text."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the type that the database knows."""
        if dialect.name != "postgresql":
            return dialect.type_descriptor(Text())
        from sqlalchemy.dialects.postgresql import JSONB  # slow to import

        return dialect.type_descriptor(JSONB())

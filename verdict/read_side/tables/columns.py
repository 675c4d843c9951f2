"""Columns of the engine's own tables; what each says of itself is shown by the views on them."""

from typing import Any

from sqlalchemy import Column
from sqlalchemy.types import TypeEngine

Type = type[TypeEngine[Any]]


def primary(name: str, kind: Type, about: str | None = None) -> Column[Any]:
    """Return a column of the primary key."""
    return Column(name, kind, primary_key=True, autoincrement=False, comment=about)


def required(name: str, kind: Type, about: str | None = None) -> Column[Any]:
    """Return a column that every row has a value in."""
    return Column(name, kind, nullable=False, comment=about)


def optional(name: str, kind: Type, about: str | None = None) -> Column[Any]:
    """Return a column that may be null."""
    return Column(name, kind, comment=about)

"""The engine's own tables: their metadata, and columns whose comments the views on them show."""

from typing import Any

from sqlalchemy import Column, MetaData
from sqlalchemy.types import TypeEngine

metadata = MetaData()
SYSTEM_COLUMNS = frozenset({"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"})  # of PostgreSQL

Type = type[TypeEngine[Any]] | TypeEngine[Any]


def primary(name: str, kind: Type, about: str | None = None) -> Column[Any]:
    return Column(name, kind, primary_key=True, autoincrement=False, comment=about)


def required(name: str, kind: Type, about: str | None = None) -> Column[Any]:
    return Column(name, kind, nullable=False, comment=about)


def optional(name: str, kind: Type, about: str | None = None) -> Column[Any]:
    return Column(name, kind, comment=about)

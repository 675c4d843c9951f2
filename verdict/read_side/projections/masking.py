"""What is personal in a payload, hidden by the view itself from those who may not see it.

One view for all: its columns hold what whoever asks may see. On PostgreSQL that follows from the
role; on SQLite, which has none, our readers let `value` be NULL for those who may not see it.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Boolean, ColumnElement, Text, case, null
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from verdict.adapters.sql.session import VIEWS
from verdict.settings.database_address import AUDITED

Paths = Sequence[tuple[str, ...]]


class _MaySee(FunctionElement[bool]):
    """Whether whoever asks may see what is personal; of the column `value`."""

    type = Boolean()
    inherit_cache = True


class _Masked(FunctionElement[str]):
    """The JSON of a column with null in the place of what lies at `paths`."""

    type = Text()
    inherit_cache = False

    def __init__(self, payload: ColumnElement[str], paths: Paths) -> None:
        super().__init__(payload)
        self.paths = paths


@compiles(_MaySee, "sqlite")
def _may_see_on_sqlite(element: _MaySee, compiler: SQLCompiler, **options: Any) -> str:
    return f"{compiler.process(element.clauses, **options)} IS NOT NULL"


@compiles(_MaySee, "postgresql")
def _may_see_on_postgresql(element: _MaySee, compiler: SQLCompiler, **options: Any) -> str:
    # asked once a query, of the role that asks and not of the view's owner
    return f"(SELECT has_table_privilege(to_regclass('{VIEWS}.{AUDITED}'), 'SELECT'))"


@compiles(_Masked, "sqlite")
def _masked_on_sqlite(element: _Masked, compiler: SQLCompiler, **options: Any) -> str:
    payload = compiler.process(element.clauses, **options)
    nulls = "".join(f", '$.{'.'.join(map(json.dumps, path))}', NULL" for path in element.paths)
    return f"json_replace({payload}{nulls})"


@compiles(_Masked, "postgresql")
def _masked_on_postgresql(element: _Masked, compiler: SQLCompiler, **options: Any) -> str:
    masked = f"CAST({compiler.process(element.clauses, **options)} AS jsonb)"
    for path in element.paths:
        masked = f"jsonb_set({masked}, '{{{','.join(path)}}}', 'null', false)"
    return f"CAST({masked} AS text)"


def unless_allowed(column: ColumnElement[Any], tells: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return a column for those who may see payloads, and NULL for others."""
    return case((_MaySee(tells), column), else_=null())


def masked(
    payload: ColumnElement[str],
    kind: ColumnElement[str],
    personal: Mapping[str, Paths],
    tells: ColumnElement[Any],
) -> ColumnElement[str]:
    """Return a payload whole for those who may see it, and masked for others.

    Args:
        payload: JSON.
        kind: Of what type it is; others see nothing of one that is not in `personal`.
        personal: By type, where something personal lies.
        tells: The column `TELLS` of the same table.
    """
    free = [name for name, paths in personal.items() if not paths]
    hidden = [(kind == name, _Masked(payload, paths)) for name, paths in personal.items() if paths]
    return case((_MaySee(tells), payload), (kind.in_(free), payload), *hidden, else_=null())

"""Views for readers: a sentence about each column, and what is personal hidden from most.

PostgreSQL keeps the sentences as comments, and `verdict sql` lists them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import (
    Boolean,
    ColumnElement,
    CompoundSelect,
    Integer,
    LargeBinary,
    Select,
    Text,
    case,
    null,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

from verdict.adapters.sql.column_types import InstantType, JsonType
from verdict.adapters.sql.session import VIEWS
from verdict.settings.database_address import AUDITED

Query = Select[*tuple[Any, ...]] | CompoundSelect[*tuple[Any, ...]]


class ViewColumn(NamedTuple):
    """A column of a view: its name, what it holds (`text`, `time` …), and a sentence."""

    name: str
    type: str
    about: str


@dataclass(frozen=True, slots=True)
class DocumentedView:
    """What a view selects, with a sentence about it and one about each column; see `described`."""

    selected: Query
    about: str
    columns: Mapping[str, str]


View = Query | DocumentedView


def described(selected: Query, about: str, /, **columns: str) -> DocumentedView:
    """Return a view with a sentence about it, and one about each column.

    Args:
        selected: What it selects.
        about: A sentence for readers who know the business and not the code.
        columns: Sentences by column, of those that are no columns of tables with a comment.

    Raises:
        ValueError: A column is left out, or one is described that is not there.
    """
    shown = selected.selected_columns
    own = {name: getattr(one, "comment", None) for name, one in shown.items()}
    comments = {name: comment for name, comment in own.items() if comment is not None} | columns
    if wrong := {*comments} ^ {*shown.keys()}:
        raise ValueError(f"{', '.join(sorted(wrong))}: selected or described, but not both")
    return DocumentedView(selected, about, comments)


def query_of(view: View) -> Query:
    return view.selected if isinstance(view, DocumentedView) else view


def about_view(view: View) -> str:
    return view.about if isinstance(view, DocumentedView) else ""


def columns_of(view: View) -> list[ViewColumn]:
    about = view.columns if isinstance(view, DocumentedView) else {}
    return [
        ViewColumn(str(name), _shown(column.type), about.get(str(name), ""))
        for name, column in query_of(view).selected_columns.items()
    ]


def _shown(type_: TypeEngine[Any]) -> str:
    if isinstance(type_, InstantType):
        return "time"
    if isinstance(type_, JsonType):
        return "json"
    words = {Integer: "integer", Boolean: "boolean", LargeBinary: "bytes", Text: "text"}
    return next((word for kind, word in words.items() if isinstance(type_, kind)), str(type_))


Paths = Sequence[tuple[str, ...]]


class _MaySee(FunctionElement[bool]):
    """Whether the role that asks may see what is personal; all roles have the same view.

    PostgreSQL knows the role. On SQLite our readers let the column be NULL for other roles.
    """

    type = Boolean()
    inherit_cache = True


class _Masked(FunctionElement[str]):
    """The JSON of a column with null instead of what is at `paths`."""

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
    """Return a payload whole for those who may see it, and masked for others."""
    free = [name for name, paths in personal.items() if not paths]
    hidden = [(kind == name, _Masked(payload, paths)) for name, paths in personal.items() if paths]
    return case((_MaySee(tells), payload), (kind.in_(free), payload), *hidden, else_=null())

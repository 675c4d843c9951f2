"""Views that say what they show: what PostgreSQL keeps as comments, and `verdict sql` lists."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Boolean, Column, CompoundSelect, Integer, LargeBinary, Select, Text
from sqlalchemy.types import TypeEngine

from verdict.adapters.sql.instant import InstantType
from verdict.adapters.sql.json_type import JsonType

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
    """Return a view that says what it shows.

    Args:
        selected: What it selects.
        about: A sentence about it, for readers who know the business and not the code.
        columns: A sentence about each of its columns, by name.

    Raises:
        ValueError: A column is left out, or one is described that is not there.
    """
    if wrong := {*columns} ^ {*selected.selected_columns.keys()}:
        raise ValueError(f"{', '.join(sorted(wrong))}: selected or described, but not both")
    return DocumentedView(selected, about, columns)


def comments_of(columns: Iterable[Column[Any]]) -> dict[str, str]:
    """Return what columns of tables say of themselves, by their names."""
    return {one.name: one.comment or "" for one in columns}


def query_of(view: View) -> Query:
    """Return what a view selects."""
    return view.selected if isinstance(view, DocumentedView) else view


def about_view(view: View) -> str:
    """Return the sentence about a view, empty if it says none."""
    return view.about if isinstance(view, DocumentedView) else ""


def columns_of(view: View) -> list[ViewColumn]:
    """Return the columns of a view, in their order."""
    about = view.columns if isinstance(view, DocumentedView) else {}
    return [
        ViewColumn(str(name), _shown(column.type), about.get(str(name), ""))
        for name, column in query_of(view).selected_columns.items()
    ]


def _shown(type_: TypeEngine[Any]) -> str:
    """Return what readers get, in one word."""
    if isinstance(type_, InstantType):
        return "time"
    if isinstance(type_, JsonType):
        return "json"
    words = {Integer: "integer", Boolean: "boolean", LargeBinary: "bytes", Text: "text"}
    return next((word for kind, word in words.items() if isinstance(type_, kind)), str(type_))

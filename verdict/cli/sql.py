"""`verdict sql`: a read-only query on the read side's views, and what these views are."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import islice
from typing import Annotated, Any

import typer

from verdict.adapters.sql.readers.reader import Access, open_reader
from verdict.cli.options import Json, settings_of
from verdict.cli.render import add_rows, note, show, show_csv, show_json, show_records, table
from verdict.errors import VerdictError
from verdict.settings.settings import Settings

app = typer.Typer(add_completion=False)

SHOWN_ROWS = 1_000


class OutputFormat(StrEnum):
    """How rows are written."""

    TABLE = "table"
    VERTICAL = "vertical"
    CSV = "csv"
    JSON = "json"


Row = tuple[Any, ...]
Answer = tuple[tuple[str, ...], list[Row]]
"""Names of columns, and rows."""


@app.command()
def sql(
    query: Annotated[
        str | None,
        typer.Argument(
            help="A SELECT on the views, or the name of one to describe.",
            metavar='["SELECT …" | VIEW]',
            show_default="lists the views",
        ),
    ] = None,
    format: Annotated[
        OutputFormat, typer.Option(help="How to write rows; JSON is one object a line.")
    ] = OutputFormat.TABLE,
    json: Json = False,
    role: Annotated[
        Access, typer.Option("--as", help="How much to see: auditors payloads, operators letters.")
    ] = Access.READER,
) -> None:
    """Run a query on the read side; without one, say which views there are.

    It can read the views and nothing else. Of a table that is too wide for the terminal the widest
    column is broken between words, or it is written one value a line, as by --format vertical;
    both end after 1000 rows, csv and json never.
    """
    if query is not None and not query.strip():
        raise typer.BadParameter("the query is empty: give a SELECT, or the name of a view")
    _tell(settings_of(), query, OutputFormat.JSON if json else format, role)


def _tell(settings: Settings, query: str | None, wanted: OutputFormat, role: Access) -> None:
    if query is None:
        _write(wanted, *_list_of_views(settings, role))
        if wanted in (OutputFormat.TABLE, OutputFormat.VERTICAL):
            note("`verdict sql VIEW` describes the columns of one")
    elif query.isidentifier() and (about := _description(settings, role, query)) is not None:
        _write(wanted, *about)
    else:
        _answer(settings, role, query, wanted)


def _list_of_views(settings: Settings, sees: Access) -> Answer:
    """Return the views that somebody may select from, each with a sentence about it."""
    from verdict.read_side.projections.described import about_view
    from verdict.read_side.query.views import views_for

    views = views_for(settings, sees)
    return ("view", "about"), [(name, about_view(view)) for name, view in views.items()]


def _description(settings: Settings, sees: Access, name: str) -> Answer | None:
    """Return the columns of a view, None: there is no such view for who sees so much.

    One that says nothing of itself has types only.
    """
    from verdict.read_side.projections.described import columns_of
    from verdict.read_side.query.views import views_for

    if (view := views_for(settings, sees).get(name)) is None:
        return None
    return ("column", "type", "about"), [tuple(column) for column in columns_of(view)]


def _answer(settings: Settings, role: Access, query: str, wanted: OutputFormat) -> None:
    with open_reader(settings, role) as reader:
        answer = reader.select(query)
        _write(wanted, answer.columns, answer.rows)


def _write(wanted: OutputFormat, columns: tuple[str, ...], rows: Iterable[Row]) -> None:
    if wanted is OutputFormat.JSON:
        names = _distinct(columns)
        for row in rows:
            show_json(dict(zip(names, row, strict=True)))
    elif wanted is OutputFormat.CSV:
        show_csv(columns, rows)
    else:
        _show([*islice(rows, SHOWN_ROWS + 1)], columns, wanted)


def _show(rows: Sequence[Row], columns: tuple[str, ...], wanted: OutputFormat) -> None:
    """Show rows to people, the first ones of many."""
    shown = rows[:SHOWN_ROWS]
    made = add_rows(table(*columns, numbers=_numbers(columns, shown)), shown)
    if wanted is OutputFormat.VERTICAL:
        show_records(made)
    else:
        show(made)
    if len(rows) > SHOWN_ROWS:
        note(f"only the first {SHOWN_ROWS} rows are shown: add a LIMIT, or --format csv for all")
    elif not rows:
        note("no rows")


def _distinct(columns: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(columns)) != len(columns):
        raise VerdictError(
            f"columns {', '.join(columns)} do not have different names: name them with AS"
        )
    return columns


def _numbers(columns: tuple[str, ...], rows: Sequence[Row]) -> list[str]:
    """Return the columns that hold numbers, and are set to the right."""
    return [
        name
        for index, name in enumerate(columns)
        if rows and all(isinstance(row[index], int | float) for row in rows)
    ]

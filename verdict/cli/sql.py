"""`verdict sql`: a read-only query on the views of the read side, and their descriptions."""

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
    """A format of rows."""

    TABLE = "table"
    VERTICAL = "vertical"
    CSV = "csv"
    JSON = "json"


Row = tuple[Any, ...]


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
        Access,
        typer.Option("--as", help="How much to see: auditors see payloads, support sees all."),
    ] = Access.READER,
) -> None:
    """Run a query on the read side; without one, list the views.

    It reads the views and nothing else. In a table that is too wide for the terminal the widest
    column is broken between words; if that is not enough, each value gets its own line, as with
    --format vertical. Both end after 1000 rows, csv and json never.
    """
    if query is not None and not query.strip():
        raise typer.BadParameter("the query is empty: give a SELECT, or the name of a view")
    _run(settings_of(), query, OutputFormat.JSON if json else format, role)


def _run(settings: Settings, query: str | None, wanted: OutputFormat, role: Access) -> None:
    if query is None:
        from verdict.read_side.projections.documented_view import about_view
        from verdict.read_side.schema.system_views import views_for

        found = [(name, about_view(view)) for name, view in views_for(settings, role).items()]
        _write(wanted, ("view", "about"), found)
        if wanted in (OutputFormat.TABLE, OutputFormat.VERTICAL):
            note("`verdict sql VIEW` describes the columns of one")
    elif query.isidentifier() and (columns := _described_columns(settings, role, query)):
        _write(wanted, ("column", "type", "about"), columns)
    else:
        with open_reader(settings, role) as reader:
            answer = reader.select(query)
            _write(wanted, answer.columns, answer.rows)


def _described_columns(settings: Settings, role: Access, name: str) -> list[Row] | None:
    """Return the columns of a view; None if this role may not read a view of that name."""
    from verdict.read_side.projections.documented_view import columns_of
    from verdict.read_side.schema.system_views import views_for

    view = views_for(settings, role).get(name)
    return None if view is None else [tuple(column) for column in columns_of(view)]


def _write(wanted: OutputFormat, columns: tuple[str, ...], rows: Iterable[Row]) -> None:
    if wanted is OutputFormat.JSON:
        if len(set(columns)) != len(columns):
            raise VerdictError(
                f"columns {', '.join(columns)} do not have different names: name them with AS"
            )
        for row in rows:
            show_json(dict(zip(columns, row, strict=True)))
    elif wanted is OutputFormat.CSV:
        show_csv(columns, rows)
    else:
        _show([*islice(rows, SHOWN_ROWS + 1)], columns, wanted)


def _show(rows: Sequence[Row], columns: tuple[str, ...], wanted: OutputFormat) -> None:
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


def _numbers(columns: tuple[str, ...], rows: Sequence[Row]) -> list[str]:
    """Return the columns of numbers, which are aligned to the right."""
    return [
        name
        for index, name in enumerate(columns)
        if rows and all(isinstance(row[index], int | float) for row in rows)
    ]

"""`verdict sql`: a read-only query on the views of the read side, and their descriptions."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Annotated, Any

import typer

from verdict.adapters.sql.readers.reader import Access, open_reader
from verdict.cli.options import Json, settings_of
from verdict.cli.render import note, show, show_csv, show_json, table
from verdict.errors import VerdictError
from verdict.settings.settings import Settings

app = typer.Typer(add_completion=False)

SHOWN_ROWS = 1_000
Rows = Iterable[Sequence[Any]]


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
    json: Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV with a header.")] = False,
    role: Annotated[
        Access,
        typer.Option("--as", help="How much to see: auditors see payloads, support sees all."),
    ] = Access.READER,
) -> None:
    """Run a query on the read side; without one, list the views.

    It reads the views and nothing else. A table ends after 1000 rows, and one that is too wide for
    the terminal is printed record by record. CSV and JSON have all rows; JSON is an object a line.
    """
    if query is not None and not query.strip():
        raise typer.BadParameter("the query is empty: give a SELECT, or the name of a view")
    with _answer(settings_of(), query, role) as (columns, rows):
        if json:
            _show_json(columns, rows)
        elif csv:
            show_csv(columns, rows)
        else:
            show_table(columns, rows)
    if query is None and not (json or csv):
        note("`verdict sql VIEW` describes the columns of one")


@contextmanager
def _answer(
    settings: Settings, query: str | None, role: Access
) -> Iterator[tuple[Sequence[str], Rows]]:
    """Give the columns and the rows of a query, of a view's columns, or of the views."""
    if query is None or query.isidentifier():
        from verdict.read_side.projections.documented_view import about_view, columns_of
        from verdict.read_side.schema.system_views import views_for

        views = views_for(settings, role)
        if query is None:
            yield ("view", "about"), [(name, about_view(view)) for name, view in views.items()]
            return
        if query in views:
            yield ("column", "type", "about"), columns_of(views[query])
            return
    with open_reader(settings, role) as reader:
        answer = reader.select(query)
        yield answer.columns, answer.rows


def _show_json(columns: Sequence[str], rows: Rows) -> None:
    if len(set(columns)) != len(columns):
        raise VerdictError(
            f"columns {', '.join(columns)} do not have different names: name them with AS"
        )
    for row in rows:
        show_json(dict(zip(columns, row, strict=True)))


def show_table(columns: Sequence[str], rows: Rows) -> None:
    """Print the first rows as a table."""
    found = [*islice(rows, SHOWN_ROWS + 1)]
    show(table(columns, found[:SHOWN_ROWS]))
    if len(found) > SHOWN_ROWS:
        note(f"only the first {SHOWN_ROWS} rows are shown: --json and --csv print all")
    elif not found:
        note("no rows")

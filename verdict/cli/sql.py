"""`verdict sql`: a read-only query on the read side's views."""

from typing import Annotated, Any

import typer

from verdict.cli.options import Json, settings_of
from verdict.cli.output import add_rows, note, show, show_json, table
from verdict.errors import VerdictError
from verdict.reading.reader import Sees, reader_of

app = typer.Typer(add_completion=False)

SHOWN_ROWS = 1_000


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help="A SELECT on the views.", metavar='"SELECT …"')],
    json: Json = False,
    role: Annotated[
        Sees, typer.Option("--as", help="How much to see: auditors payloads, operators letters.")
    ] = Sees.READER,
) -> None:
    """Run a query on the read side; it can read the views and nothing else.

    With --json every row, one object a line; the table ends after 1000 rows.
    """
    settings = settings_of()
    with reader_of(settings, role) as reader:
        answer = reader.select(query)
        if json:
            for row in answer.rows:
                show_json(dict(zip(_distinct(answer.columns), row, strict=True)))
            return
        rows = [row for row, _ in zip(answer.rows, range(SHOWN_ROWS + 1), strict=False)]
    shown = rows[:SHOWN_ROWS]
    show(add_rows(table(*answer.columns, numbers=_numbers(answer.columns, shown)), shown))
    if len(rows) > SHOWN_ROWS:
        note(f"only the first {SHOWN_ROWS} rows are shown: add a LIMIT, or --json for all")
    elif not rows:
        note("no rows")


def _distinct(columns: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(columns)) != len(columns):
        raise VerdictError(
            f"columns {', '.join(columns)} do not have different names: name them with AS"
        )
    return columns


def _numbers(columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> list[str]:
    """Return the columns that hold numbers, and are set to the right."""
    return [
        name
        for index, name in enumerate(columns)
        if rows and all(isinstance(row[index], int | float) for row in rows)
    ]

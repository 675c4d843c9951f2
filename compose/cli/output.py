"""What people and programs see: tables or JSON on stdout, everything else on stderr."""

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from compose.json_lines import json_line


def note(text: str) -> None:
    """Say something besides the data."""
    Console(stderr=True).print(Text(text), soft_wrap=True)


def show_json(value: Any, flush: bool = False) -> None:
    """Print one line of JSON; bytes become base64."""
    sys.stdout.write(json_line(value).decode() + "\n")
    if flush:
        sys.stdout.flush()


def table(*columns: str, numbers: Sequence[str] = ()) -> Table:
    """Return an empty table; the columns in `numbers` are set to the right."""
    made = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in columns:
        made.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    return made


def add_rows(made: Table, rows: Iterable[Sequence[Any]]) -> Table:
    """Put rows into a table, each value as its text; nothing in it is taken for markup."""
    for row in rows:
        made.add_row(*(cell(value) for value in row))
    return made


def cell(value: Any) -> Text:
    """Return a value as it stands in a table."""
    if isinstance(value, Text):
        return value
    if isinstance(value, bytes):
        return Text(value.hex())
    return Text("-" if value is None else str(value), style="dim" if value is None else "")


def show(*parts: Any) -> None:
    """Print tables and texts for people."""
    console = Console()
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, str), markup=False, highlight=False)


def is_terminal() -> bool:
    """Tell whether a person looks at stderr, and progress makes sense."""
    return sys.stderr.isatty()

"""What people and programs see: tables or JSON on stdout, everything else on stderr."""

import json
import sys
from base64 import b64encode
from collections.abc import Iterable, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text


def note(text: str) -> None:
    """Say something besides the data."""
    Console(stderr=True).print(Text(text), soft_wrap=True)


def show_json(value: Any, flush: bool = False) -> None:
    """Print one line of JSON; bytes become base64."""
    line = json.dumps(value, ensure_ascii=False, default=as_json)
    sys.stdout.write(line.encode(errors="backslashreplace").decode() + "\n")
    if flush:
        sys.stdout.flush()


def as_json(value: Any) -> Any:
    """Return what JSON has no form for as a text; bytes become base64."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return str(value)


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

"""What people and programs see: tables or JSON on stdout, everything else on stderr."""

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from verdict.wire.escapes import spelled, spelled_json, spelled_lines, spelled_text
from verdict.wire.json_lines import json_line

WIDEST = 1 << 16  # columns of a terminal that there is none of


def note(text: str) -> None:
    """Say something besides the data."""
    Console(stderr=True).print(Text(spelled_lines(text)), soft_wrap=True)


def show_json(value: Any, flush: bool = False) -> None:
    """Print one line of JSON; bytes become base64."""
    sys.stdout.write(spelled_json(json_line(value).decode()) + "\n")
    if flush:
        sys.stdout.flush()


def show_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows as CSV (RFC 4180, but for lines that end as everywhere) with a header.

    NULL is empty, bytes are hexadecimal, JSON is its text. Off a terminal a text is as it is.
    """
    write = csv.writer(sys.stdout, lineterminator="\n").writerow
    write(map(_field, columns))
    for row in rows:
        write(map(_field, row))


def _field(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | dict):
        value = json_line(value).decode()
    return spelled(value) if isinstance(value, str) and sys.stdout.isatty() else value


def table(*columns: str, numbers: Sequence[str] = ()) -> Table:
    """Return an empty table; the columns in `numbers` are set to the right."""
    made = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, show_header=any(columns))
    for column in columns:
        header = Text(spelled(column))  # a text would be taken for markup
        made.add_column(header, justify="right" if column in numbers else "left", overflow="fold")
    return made


def add_rows(made: Table, rows: Iterable[Sequence[Any]]) -> Table:
    """Put rows into a table, each value as its text; nothing in it is taken for markup."""
    for row in rows:
        made.add_row(*(cell(value) for value in row))
    return made


def cell(value: Any) -> Text:
    """Return a value as it stands in a table."""
    if isinstance(value, Text):
        return spelled_text(value)
    if isinstance(value, bytes):
        return Text(value.hex())
    return Text("-" if value is None else spelled(str(value)), style="dim" if value is None else "")


def show(*parts: Table | Text | str) -> None:
    """Print tables and texts for people; nothing in them is ever broken in the middle.

    Off a terminal a table is as wide as it is. One that is too wide for the terminal is shown
    record by record, one value a line.
    """
    console = Console(emoji=False)  # an id `acct:b:9` is no picture
    for part in parts:
        if isinstance(part, Table):
            _show_table(console, part)
        else:
            shown = spelled_text(part) if isinstance(part, Text) else spelled_lines(part)
            console.print(shown, soft_wrap=True, markup=False, highlight=False)


def show_records(made: Table, console: Console | None = None) -> None:
    """Print a table record by record, one value a line."""
    console = console or Console(emoji=False)
    for line in _records(made):
        console.print(line, soft_wrap=True)


def _show_table(console: Console, made: Table) -> None:
    width = _width(console, made)
    if console.is_terminal and width > console.width:
        show_records(made, console)
        return
    console.width = max(width, console.width)
    console.print(made)


def fitting(console: Console, made: Table | Text) -> Table | Text:
    """Return a part of a page that is drawn again and again: a table that is too wide as records.

    Without it the ids in its cells would be broken in the middle.
    """
    if isinstance(made, Text) or _width(console, made) <= console.width:
        return made
    return Text("\n").join(_records(made))


def _width(console: Console, made: Table) -> int:
    return Measurement.get(console, console.options.update(max_width=WIDEST), made).maximum


def _records(made: Table) -> Iterator[Text]:
    """Yield a table record by record; one without headers is a record already."""
    rows = [
        tuple(map(_text, row))
        for row in zip(*(column.cells for column in made.columns), strict=True)
    ]
    if not made.show_header:
        yield from _aligned(rows)
        return
    headers = [Text(f"  {column.header}") for column in made.columns]
    for number, row in enumerate(rows, 1):
        yield Text(f"record {number}", "dim")
        yield from _aligned(list(zip(headers, row, strict=True)))


def _aligned(rows: Sequence[tuple[Text, ...]]) -> Iterator[Text]:
    broad = max((len(name) for name, *_ in rows), default=0)
    for name, *values in rows:
        yield Text("  ").join((Text(name.plain.ljust(broad)), *values))


def _text(value: Any) -> Text:
    return value if isinstance(value, Text) else Text(str(value))

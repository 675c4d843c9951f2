"""Output: tables or JSON on stdout, everything else on stderr."""

import csv
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from verdict.wire.control_characters import escape, escape_json, escape_lines, escape_text
from verdict.wire.json_lines import json_line

WIDEST = 1 << 16  # columns, where there is no terminal
LEAST = 16  # columns that a readable text needs
INDENT = 2


def note(text: str) -> None:
    """Print a text on stderr."""
    Console(stderr=True).print(Text(escape_lines(text)), soft_wrap=True)


@contextmanager
def show_progress(text: str) -> Iterator[Callable[[str], None]]:
    """Show on a terminal what is being done; give a function that shows another text.

    Nothing in a text is taken for markup: names that others chose are in them.
    """
    with Console(stderr=True).status(Text(escape(text))) as status:
        yield lambda text: status.update(Text(escape(text)))


def show_json(value: Any, flush: bool = False) -> None:
    """Print one line of JSON; bytes become base64."""
    sys.stdout.write(escape_json(json_line(value).decode()) + "\n")
    if flush:
        sys.stdout.flush()


def show_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows as CSV with a header; lines end with a line feed.

    NULL is empty, bytes are hexadecimal, JSON is its text. Only a terminal gets escaped texts.
    """
    write = csv.writer(sys.stdout, lineterminator="\n").writerow
    write(map(_field, columns))
    for row in rows:
        write(map(_field, row))


def _field(value: Any) -> object:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | dict):
        value = json_line(value).decode()
    return escape(value) if isinstance(value, str) and sys.stdout.isatty() else value


def table(*columns: str, numbers: Sequence[str] = ()) -> Table:
    """Return an empty table; the columns in `numbers` are aligned to the right."""
    made = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, show_header=any(columns))
    for column in columns:
        header = Text(escape(column))  # rich reads markup in a string
        made.add_column(header, justify="right" if column in numbers else "left", overflow="fold")
    return made


def add_rows(made: Table, rows: Iterable[Sequence[Any]]) -> Table:
    """Add rows to a table, each value as its text; nothing in it is taken for markup."""
    for row in rows:
        made.add_row(*map(_cell, row))
    return made


def _cell(value: object) -> Text:
    if isinstance(value, Text):
        return escape_text(value)
    if isinstance(value, bytes):
        return Text(value.hex())
    return Text("-" if value is None else in_json(value), style="dim" if value is None else "")


def in_json(value: Any) -> str:
    """Return a value as text; objects and lists as JSON."""
    if isinstance(value, dict | list):
        return escape_json(json_line(value).decode())
    return escape(str(value))


def show_fields(facts: Mapping[str, Any], json: bool) -> None:
    """Print the fields of one thing, as JSON or one a line."""
    if json:
        show_json(facts)
    else:
        show(add_rows(table("", ""), facts.items()))


def show_items(items: Iterable[Mapping[str, Any]], columns: Sequence[str], json: bool) -> None:
    """Print things, as JSON with all fields or as a table of some; the first column is the id."""
    found = [*items]
    if json:
        for item in found:
            show_json(item)
    elif found:
        made = table(*columns, numbers=("behind",))
        made.columns[0].no_wrap = True  # it is copied
        show(add_rows(made, ([item[column] for column in columns] for item in found)))
    else:
        note("none")


def show(*parts: Table | Text | str) -> None:
    """Print tables and texts; no word in them is ever broken.

    Only on a terminal they are made to fit, as by `fit_to_width`.
    """
    console = Console(emoji=False)  # an id `acct:b:9` is no picture
    for part in parts:
        if isinstance(part, str):
            console.print(escape_lines(part), soft_wrap=True, markup=False, highlight=False)
            continue
        shown = escape_text(part) if isinstance(part, Text) else part
        if console.is_terminal:
            shown = fit_to_width(console, shown)
        elif isinstance(shown, Table):
            console.width = max(_width(console, shown), console.width)
        console.print(shown, soft_wrap=isinstance(shown, Text), markup=False, highlight=False)


def show_records(made: Table) -> None:
    """Print a table record by record, one value a line, however long it is."""
    console = Console(emoji=False)
    for line in _records(made):
        console.print(line, soft_wrap=True)


def fit_to_width(console: Console, made: Table | Text) -> Table | Text:
    """Return a table or a text so that it fits the terminal, with no word broken.

    Lines are broken between words: those of a text, and those of the widest column of a table. A
    table that is still too wide is shown record by record, one value a line.
    """
    if isinstance(made, Text):
        return Text("\n").join(
            _broken(console, line) for line in made.split("\n", allow_blank=True)
        )
    if _width(console, made) <= console.width:
        return made
    if made.show_header and (narrower := _narrowed(console, made)):
        return narrower
    return Text("\n").join(_records(made, console))


def _narrowed(console: Console, made: Table) -> Table | None:
    """Return a table with its widest column broken between words, if enough room is left for it."""
    options = console.options.update(max_width=WIDEST)
    sizes = [
        max(Measurement.get(console, options, cell).maximum for cell in (one.header, *one.cells))
        for one in made.columns
    ]
    widest = sizes.index(max(sizes))
    longest = max(
        Measurement.get(console, options, cell).minimum for cell in made.columns[widest].cells
    )
    left = console.width - (_width(console, made) - sizes[widest])
    if left < max(longest, LEAST):
        return None
    for number, column in enumerate(made.columns):
        column.no_wrap = number != widest
    return made


def _width(console: Console, made: Table) -> int:
    return Measurement.get(console, console.options.update(max_width=WIDEST), made).maximum


def _broken(console: Console, line: Text, begin: int | None = None) -> Text:
    if begin is None:
        begin = len(line.plain) - len(line.plain.lstrip()) + INDENT
    if not console.is_terminal or console.width - begin < LEAST or line.cell_len <= console.width:
        return line
    ends, end = [], console.width
    for word in re.finditer(r"\S+", line.plain):
        if cell_len(line.plain[: word.end()]) > end and word.start() > begin:
            ends.append(word.start())
            end = cell_len(line.plain[: word.start()]) + console.width - begin
    parts = line.divide(ends)
    for part in parts[:-1]:
        part.rstrip()
    return Text("\n" + " " * begin).join(parts)


def _records(made: Table, console: Console | None = None) -> Iterator[Text]:
    """Yield a table record by record; one without headers is a record already."""
    cells = zip(*(column.cells for column in made.columns), strict=True)
    rows = [tuple(one if isinstance(one, Text) else Text(str(one)) for one in row) for row in cells]
    if not made.show_header:
        yield from _aligned(rows, console)
        return
    headers = [Text(f"  {column.header}") for column in made.columns]
    for number, row in enumerate(rows, 1):
        yield Text(f"record {number}", "dim")
        yield from _aligned(list(zip(headers, row, strict=True)), console)


def _aligned(rows: Sequence[tuple[Text, ...]], console: Console | None) -> Iterator[Text]:
    broad = max((len(name) for name, *_ in rows), default=0)
    for name, *values in rows:
        line = Text("  ").join((Text(name.plain.ljust(broad)), *values))
        yield line if console is None else _broken(console, line, broad + INDENT)

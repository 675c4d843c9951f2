"""Output: tables, CSV or JSON on stdout, everything else on stderr."""

import csv
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from verdict.wire.control_characters import escape, escape_json, escape_lines, escape_text
from verdict.wire.json_lines import json_line

WIDEST = 1 << 16  # columns, where there is no terminal
NUMBER = int | float | None


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
    sys.stdout.write(in_json(value) + "\n")
    if flush:
        sys.stdout.flush()


def in_json(value: Any) -> str:
    """Return a value as one line of JSON."""
    return escape_json(json_line(value).decode())


def show_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows as CSV with a header. NULL is empty, bytes are hexadecimal, JSON is its text."""
    write = csv.writer(sys.stdout, lineterminator="\n").writerow
    write(columns)
    for row in rows:
        write(map(_field, row))


def _field(value: object) -> object:
    if isinstance(value, bytes):
        return value.hex()
    text = in_json(value) if isinstance(value, list | dict) else value
    return escape(text) if isinstance(text, str) and sys.stdout.isatty() else text


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    """Return a table of values as texts; columns of numbers are aligned to the right."""
    found = [*rows]
    made = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for number, name in enumerate(columns):
        numeric = all(row[number] == "" or isinstance(row[number], NUMBER) for row in found)
        # rich would read markup in a string
        made.add_column(Text(escape(name)), justify="right" if numeric else "left")
    for row in found:
        made.add_row(*map(_cell, row))
    return made


def attribute_table(names: Sequence[str], items: Iterable[object]) -> Table:
    """Return a table of the attributes of some objects."""
    return table(names, map(attrgetter(*names), items))


def pairs(facts: Iterable[tuple[str, Any]]) -> Text:
    """Return names and values, one pair a line."""
    found = [(escape(name), _cell(value)) for name, value in facts]
    broad = max((len(name) for name, _ in found), default=0)
    lines = (Text.assemble(name.ljust(broad), "  ", value) for name, value in found)
    return Text("\n").join(lines)


def plain(value: object) -> str:
    """Return a value as text on one line; objects and lists as JSON."""
    return in_json(value) if isinstance(value, dict | list) else escape(str(value))


def _cell(value: object) -> Text:
    if isinstance(value, Text):
        return escape_text(value)
    if isinstance(value, bytes):
        return Text(value.hex())
    return Text("-", "dim") if value is None else Text(plain(value))


def show_fields(facts: Mapping[str, Any], json: bool) -> None:
    """Print the fields of one thing, as JSON or one a line."""
    if json:
        show_json(facts)
    else:
        show(pairs(facts.items()))


def show_items(items: Iterable[Mapping[str, Any]], columns: Sequence[str], json: bool) -> None:
    """Print things, as JSON with all fields or as a table of some."""
    found = [*items]
    if json:
        for item in found:
            show_json(item)
    elif found:
        show(table(columns, ([item[column] for column in columns] for item in found)))
    else:
        note("none")


def show(*parts: Table | Text | str) -> None:
    """Print tables and texts; only the terminal breaks their lines.

    A table that is too wide for a terminal is printed record by record.
    """
    console = Console(emoji=False, markup=False, highlight=False)
    for part in parts:
        shown = part if isinstance(part, Table) else escape_text(Text.assemble(part))
        if console.is_terminal:
            shown = fit_to_width(console, shown)
        elif isinstance(part, Table):
            console.width = max(_width(console, part), console.width)
        console.print(shown, soft_wrap=isinstance(shown, Text))


def fit_to_width(console: Console, part: Table | Text) -> Table | Text:
    """Return a table that is too wide as its records, with one value a line."""
    if isinstance(part, Text) or _width(console, part) <= console.width:
        return part
    names = [str(column.header) for column in part.columns]
    shown = list[Text]()
    for number, row in enumerate(zip(*(column.cells for column in part.columns), strict=True), 1):
        named = ((f"  {name}", value) for name, value in zip(names, row, strict=True))
        shown += [Text(f"record {number}", "dim"), pairs(named)]
    return Text("\n").join(shown)


def _width(console: Console, part: Table) -> int:
    return Measurement.get(console, console.options.update(max_width=WIDEST), part).maximum

"""Templates: values that others chose become text of a page."""

import json
import re
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from verdict.wire.control_characters import escape_lines
from verdict.wire.json_lines import as_json

PAGES = {  # verb → the page that does the same
    "blocked": ("/attention", "Needs attention"),
    "dead-letters": ("/attention", "Needs attention"),
    "skip": ("/attention", "Needs attention"),
    "sql": ("/sql", "SQL"),
    "status": ("/", "Overview"),
}
COMMAND = re.compile(rf"`verdict ({'|'.join(PAGES)})\b[^`]*`")
TIME = Markup('<time datetime="{0}" title="{0}">{0}</time>')
NOTHING = "\u2013"


def _plain(value: Any) -> Any:
    """Return what a template shows: no character changes the direction of a line."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return escape_lines(value)
    return NOTHING if value is None else value


def _cell(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=as_json)
    return NOTHING if value is None else str(value)


def as_text(value: Any) -> str:
    """Return a JSON value as text of several lines, and a text unchanged."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _count(value: int | None) -> str | None:
    return None if value is None else f"{value:,}"


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:,.1f}".removesuffix(".0")


def _time(text: str | None) -> Markup | None:
    """Return a time as an element, in which the script shows how long ago it was."""
    return None if text is None else TIME.format(text)


def _linked(text: str) -> Markup:
    """Return a text in which a verb becomes a link to the page that does the same."""
    return Markup(COMMAND.sub(_link, str(escape(escape_lines(text)))))


def _link(command: re.Match[str]) -> str:
    address, title = PAGES[command[1]]
    return f'<a href="{address}" title="{command[0][1:-1]}">{title}</a>'


def templates() -> Environment:
    """Return the templates, which escape all values."""
    made = Environment(
        loader=PackageLoader("verdict.http"),
        autoescape=True,
        finalize=_plain,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "cell": _cell,
        "count": _count,
        "number": _number,
        "time": _time,
        "linked": _linked,
    }
    return made

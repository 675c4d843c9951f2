"""How values of others become text of a page."""

import json
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from verdict.wire.escapes import spelled_lines
from verdict.wire.json_lines import as_json

NOTHING = "\u2013"


def _plain(value: Any) -> Any:
    """Return what a template shows of a value: nobody's characters turn a line about."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return spelled_lines(value)
    return NOTHING if value is None else value


def _cell(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=as_json)
    return NOTHING if value is None else str(value)


def _count(value: int | None) -> str | None:
    return None if value is None else f"{value:,}"


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:,.1f}".removesuffix(".0")


def templates() -> Environment:
    """Return the templates, in which all that others wrote is text."""
    made = Environment(
        loader=PackageLoader("verdict.page"),
        autoescape=True,
        finalize=_plain,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"cell": _cell, "count": _count, "number": _number}
    return made

"""A command from `--field name=value`, each value read as its field's type."""

import re
from collections.abc import Sequence

import typer
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from verdict.model.application import Application
from verdict.model.command import Command
from verdict.wire.error_text import problems


def command_from(
    application: Application, aggregate_type: str, name: str, fields: Sequence[str]
) -> Command:
    """Return the command `name` of an aggregate with the given fields.

    Raises:
        BadParameter: There is no such command, or a field is unknown, missing, wrong or repeated.
    """
    known = application.aggregate(aggregate_type).command_types
    if name not in known:
        raise typer.BadParameter(
            f"{aggregate_type} has no command {name!r}: it has {', '.join(known)}"
        )
    kind = known[name]
    try:
        return _read(kind, _values(fields))
    except ValidationError as error:
        raise typer.BadParameter(f"{problems(error, name)}; {_signature(kind)}") from error


JSON = re.compile(r"[\[{]|null$|\d+$")  # what begins a list or a message; null; epoch milliseconds


def _read(kind: type[Command], texts: dict[str, str]) -> Command:
    """Return the command; a list, message, number or null is JSON if its field takes no text."""
    try:
        return kind.model_validate_strings(texts)
    except ValidationError as error:
        wrong = {problem["loc"][0] for problem in error.errors() if problem["loc"]}
        parsed = {
            name: _json(name, text)
            for name, text in texts.items()
            if name in wrong & kind.model_fields.keys() and JSON.match(text)
        }
        if not parsed:
            raise
        return kind.model_validate_json(to_json(texts | parsed), strict=False)


def _json(name: str, text: str) -> object:
    try:
        return from_json(text)
    except ValueError as error:
        raise typer.BadParameter(f"{name} is no JSON: {error}") from error


def _values(fields: Sequence[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for field in fields:
        name, equals, value = field.partition("=")
        if not equals:
            raise typer.BadParameter(f"{field!r} is no name=value")
        if name in values:
            raise typer.BadParameter(f"the field {name!r} is given twice")
        values[name] = value
    return values


def _signature(kind: type[Command]) -> str:
    fields = [
        name if field.is_required() else f"[{name}]" for name, field in kind.model_fields.items()
    ]
    return f"{kind.__name__} has {', '.join(fields) or 'no fields'}"

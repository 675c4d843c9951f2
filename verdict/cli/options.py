"""Options that verbs share, and the settings that come of them."""

import os
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from verdict.cli.application import load, load_if_named
from verdict.cli.connection import given
from verdict.cli.render import note
from verdict.model.command_envelope import aggregate_id_rule
from verdict.settings.discovery import kafka_options as kafka_options
from verdict.settings.load import load_settings, unknown_variables
from verdict.settings.settings import Settings


def known_aggregate(name: str | None) -> str | None:
    """Return the name of an aggregate type, or None if none was given.

    Raises:
        BadParameter: There is no such aggregate.
    """
    if name is not None and name not in (types := load().aggregate_types):
        known = ", ".join(types)
        raise typer.BadParameter(f"no aggregate {name!r}: there are {known}")
    return name


def possible_id(id: str | None) -> str | None:
    """Return an aggregate's id, or None if none was given.

    Raises:
        BadParameter: No aggregate can have it.
    """
    try:
        return id if id is None else aggregate_id_rule.validate_python(id)
    except ValidationError as error:
        problem = (
            f"an aggregate's id has 1 to 256 characters of Unicode, this one has {len(id or '')}"
        )
        raise typer.BadParameter(problem) from error


Json = Annotated[bool, typer.Option("--json", help="Print JSON: one object, or one per line.")]
AggregateType = Annotated[
    str, typer.Argument(callback=known_aggregate, help="Type of the aggregate, such as order.")
]
Id = Annotated[str, typer.Argument(metavar="ID", callback=possible_id, help="Id of the aggregate.")]


def settings_of(**flags: Any) -> Settings:
    """Return the settings, the flags of this call first; None is a flag that was not given.

    A variable that was meant for us and is not is said on stderr.
    """
    application = load_if_named()
    for warning in unknown_variables(application, os.environ):
        note(f"verdict: {warning}")
    return load_settings(application, **given(), **flags)

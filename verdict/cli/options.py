"""Options that several verbs have, and the settings of a call."""

import os
from getpass import getuser
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from verdict.cli.application import given, load, load_if_named
from verdict.cli.render import note
from verdict.model.command_envelope import aggregate_id_rule
from verdict.model.message import epoch_millis
from verdict.operations.repair.operator import OperatorIdentity
from verdict.settings.load import load_settings, unknown_variables
from verdict.settings.settings import Settings

MOST_CHARACTERS = 1_000


def known_aggregate(name: str | None) -> str | None:
    """Return the name of an aggregate type, or None if none was given.

    Raises:
        BadParameter: There is no such aggregate.
    """
    if name is not None and name not in (types := load().aggregate_types):
        raise typer.BadParameter(f"no aggregate {name!r}: there are {', '.join(types)}")
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


def parse_time(text: str) -> int:
    """Read a time with a zone as epoch milliseconds.

    Raises:
        BadParameter: It is no ISO 8601 time, or lacks the zone.
    """
    try:
        millis = epoch_millis(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    assert isinstance(millis, int)  # a text is never returned as it was
    return millis


Json = Annotated[bool, typer.Option("--json", help="Print JSON: one object, or one per line.")]
AggregateType = Annotated[
    str, typer.Argument(callback=known_aggregate, help="Type of the aggregate, such as order.")
]
Id = Annotated[str, typer.Argument(metavar="ID", callback=possible_id, help="Id of the aggregate.")]
IdOrAll = Annotated[
    str | None,
    typer.Argument(
        metavar="ID", callback=possible_id, help="Id of one aggregate.", show_default="all"
    ),
]
Who = Annotated[
    str | None, typer.Option("--operator", help="Who does it.", show_default="the name of the user")
]
Why = Annotated[str, typer.Option("--reason", help="The reason; it is recorded.")]
WhyIfAny = Annotated[
    str | None, typer.Option("--reason", help="The reason, if there is one to record.")
]
Document = Annotated[
    typer.FileBinaryRead,
    typer.Option("--file", metavar="FILE|-", help="The payload as JSON, as `show` prints it."),
]


def settings_of(**flags: Any) -> Settings:
    """Return the settings, the flags of this call first; None is a flag that was not given.

    A variable of the environment that looks like a setting and is none is reported on stderr.
    """
    application = load_if_named()
    for warning in unknown_variables(application, os.environ):
        note(f"verdict: {warning}")
    return load_settings(application, **given(), **flags)


def operator_identity(operator: str | None, reason: str | None) -> OperatorIdentity:
    """Return the operator, and the reason on one line.

    Raises:
        BadParameter: The reason is blank, the operator has no name, or one of the two is no text
            or is too long.
    """
    if reason is not None and not (reason := _one_line(reason, "--reason")):
        raise typer.BadParameter("give the reason", param_hint="--reason")
    try:
        return OperatorIdentity(_one_line(operator or getuser(), "--operator"), reason)
    except (KeyError, OSError) as error:  # a container may run as a user without a name
        raise typer.BadParameter(
            "this user has no name: name the operator", param_hint="--operator"
        ) from error


def _one_line(text: str, option: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:  # a shell passes any bytes on
        raise typer.BadParameter(f"{text!r} is no text in UTF-8", param_hint=option) from error
    if len(text) > MOST_CHARACTERS:
        raise typer.BadParameter(
            f"it has {len(text):,} characters, and at most {MOST_CHARACTERS:,} are recorded: "
            "shorten it, or name the place of the full text",
            param_hint=option,
        )
    return " ".join(text.split())

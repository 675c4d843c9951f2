"""Options that several verbs have, and the settings of a call."""

import os
from getpass import getuser
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import ValidationError

from verdict.adapters.sql.time_text import wall_clock
from verdict.cli.application import given, load, load_if_named
from verdict.cli.render import note
from verdict.model.command_envelope import aggregate_id_rule
from verdict.model.message import epoch_millis
from verdict.operations.repair.operator import OperatorIdentity
from verdict.settings.load import load_settings, unknown_variables
from verdict.settings.settings import Settings

if TYPE_CHECKING:
    from verdict.streaming.event_log.skips import SkipRequest


def known_aggregate(name: str | None) -> str | None:
    """Return the name of an aggregate type that exists, or None if none was given."""
    if name is not None and name not in (types := load().aggregate_types):
        raise typer.BadParameter(f"no aggregate {name!r}: there are {', '.join(types)}")
    return name


def possible_id(id: str | None) -> str | None:
    """Return an id that an aggregate can have, or None if none was given."""
    if id is None:
        return None
    try:
        return aggregate_id_rule.validate_python(id)
    except ValidationError as error:
        raise typer.BadParameter(
            f"an aggregate's id has 1 to 256 characters of Unicode, this one has {len(id)}"
        ) from error


def parse_time(text: str) -> int:
    """Read an ISO 8601 time with a zone as epoch milliseconds."""
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
AggregateTypeOrAll = Annotated[
    str | None,
    typer.Argument(callback=known_aggregate, help="Only this type.", show_default="all"),
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
    """Return the operator, and the reason on one line."""
    if reason is not None and not (reason := _one_line(reason, "--reason")):
        raise typer.BadParameter("give the reason", param_hint="--reason")
    try:
        return OperatorIdentity(_one_line(operator or getuser(), "--operator"), reason)
    except (KeyError, OSError) as error:  # a container may run as a user without a name
        raise typer.BadParameter(
            "this user has no name: name the operator", param_hint="--operator"
        ) from error


def skip_request(operator: str | None, reason: str) -> "SkipRequest":
    """Return the request of an operator, without records to skip."""
    from verdict.streaming.event_log.skips import SkipRequest  # which loads Kafka's client

    identity = operator_identity(operator, reason)
    return SkipRequest(operator=identity.operator, reason=identity.reason or "", at=wall_clock())


def _one_line(text: str, option: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:  # a shell passes any bytes on
        raise typer.BadParameter(f"{text!r} is no text in UTF-8", param_hint=option) from error
    return " ".join(text.split())

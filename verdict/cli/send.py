"""`verdict send`: one command from its fields, or a file of commands."""

import re
from collections.abc import Sequence
from typing import Annotated

import typer
from pydantic import ValidationError
from pydantic_core import from_json, to_json
from rich.text import Text

from verdict.adapters.sql.readers.reader import Access, open_reader
from verdict.cli.options import Json, known_aggregate, parse_time, possible_id, settings_of
from verdict.cli.render import note, show, show_json
from verdict.cli.send_file import REJECTED, send_file, sending
from verdict.model.application import Application
from verdict.model.command import Command
from verdict.model.command_envelope import Expectation
from verdict.model.message import Fields
from verdict.read_side.read_your_writes import (
    ReadToken,
    require_row_per_aggregate,
    wait_for_projection,
)
from verdict.settings.settings import Settings
from verdict.wire.error_text import problems
from verdict.wire.json import readable
from verdict.wire.response import Response

app = typer.Typer(add_completion=False)

EXPECTATIONS = "|".join(Expectation)
PROJECTION_ALONE = "--projection goes with --wait and one command"
JSON = re.compile(r"[\[{]|null$|\d+$")  # what begins a list or a message; null; epoch milliseconds

TypeIfAny = Annotated[str | None, typer.Argument(callback=known_aggregate, help="Such as order.")]
CommandType = Annotated[str | None, typer.Argument(help="Such as PlaceOrder.")]
AggregateId = Annotated[
    str | None, typer.Option("--id", callback=possible_id, help="Of the aggregate.")
]
ExpectedVersion = Annotated[
    str | None,
    typer.Option(metavar=f"N|{EXPECTATIONS}", help="How many of its events you have seen."),
]
FieldTexts = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="A field, a list or message as JSON; may be repeated."),
]
CommandId = Annotated[
    str | None, typer.Option(help="The same id is decided once.", show_default="a new one")
]
Deadline = Annotated[
    str | None, typer.Option(metavar="TIME", help="Rejected when it reaches Kafka later.")
]
Actor = Annotated[str | None, typer.Option(help="On whose behalf.")]
CorrelationId = Annotated[str | None, typer.Option(help="Of the flow it belongs to.")]
File = Annotated[str | None, typer.Option(metavar="FILE", help="NDJSON envelopes, - for stdin.")]
Wait = Annotated[float | None, typer.Option(metavar="SECONDS", min=0, help="Wait for the outcome.")]
Projection = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Wait until it shows the command, too."),
]


@app.command()
def send(  # noqa: PLR0913  (options)
    aggregate: TypeIfAny = None,
    command: CommandType = None,
    id: AggregateId = None,
    expected_version: ExpectedVersion = None,
    field: FieldTexts = None,
    command_id: CommandId = None,
    deadline: Deadline = None,
    actor: Actor = None,
    correlation_id: CorrelationId = None,
    file: File = None,
    wait: Wait = None,
    projection: Projection = None,
    json: Json = False,
) -> None:
    """Send a command, or a file of them.

        verdict send order PlaceOrder --id order-1 --expected-version 0 --field client=ada …

    A file has one envelope a line, with "aggregate" or the AGGREGATE given here:

        {"aggregate": "order", "command_id": "c-17", "aggregate_id": "order-1",
         "expected_version": 1, "payload": {"type": "ModifyOrder", "quantity": 5}}

    Exit codes: 3 when one was rejected; 4 when an outcome is not known in time, or when the
    projection does not show it so many seconds after the outcome. After a 4 send the command again
    with the same command id.
    """
    if file is not None:
        if projection is not None:
            raise typer.BadParameter(PROJECTION_ALONE)
        if any((command, id, field, expected_version, command_id)):
            raise typer.BadParameter("a --file has all of a command but the AGGREGATE")
        send_file(settings_of(), file, aggregate, wait, json)
        return
    if not (aggregate and command and id and expected_version):
        given = {"AGGREGATE": aggregate, "COMMAND": command, "--id": id}
        given["--expected-version (a number, NO_STREAM, EXISTS or ANY)"] = expected_version
        lacking = ", ".join(name for name, one in given.items() if not one)
        raise typer.BadParameter(f"{lacking} is missing; else give a --file of envelopes")
    settings = settings_of()
    if projection is not None:
        if wait is None:
            raise typer.BadParameter(PROJECTION_ALONE)
        require_row_per_aggregate(settings.application, projection, aggregate)
    about = {
        "expected_version": _expectation(expected_version),
        "command_id": command_id,
        "deadline": None if deadline is None else parse_time(deadline),
        "actor": actor,
        "correlation_id": correlation_id,
    }
    asked = command_from(settings.application, aggregate, command, field or [])
    response = _send_one(settings, id, asked, about, wait, json)
    if response is None:
        return
    _show(response, json)
    _await_projection(settings, response, projection, wait)
    raise typer.Exit(REJECTED if response.reason else 0)


def _send_one(
    settings: Settings, id: str, asked: Command, about: Fields, wait: float | None, json: bool
) -> Response | None:
    """Send a command; return its outcome, or None if it is not awaited."""
    with sending(settings) as client:
        pending = client.send(id, asked, **about)
        client.flush()
        if wait is not None:
            return pending.wait(wait)
    if json:
        show_json({"command_id": pending.command_id, "sent": str(pending.source)})
    else:
        note(f"sent {pending} to {pending.source}; --wait SECONDS shows the outcome")
    return None


def _await_projection(
    settings: Settings, response: Response, projection: str | None, wait: float | None
) -> None:
    token = ReadToken.of(response)
    if projection and wait is not None and token and not response.reason:
        with open_reader(settings, Access.READER) as reader:
            wait_for_projection(settings.application, reader, projection, token, wait)
        note(f"{projection} shows it")


def command_from(
    application: Application, aggregate_type: str, name: str, fields: Sequence[str]
) -> Command:
    """Return the command `name` of an aggregate, each field read as its type."""
    known = application.aggregate(aggregate_type).command_types
    if name not in known:
        raise typer.BadParameter(
            f"{aggregate_type} has no command {name!r}: it has {', '.join(known)}"
        )
    kind, texts = known[name], _texts(fields)
    try:
        return _read(kind, texts)
    except ValidationError as error:
        named = kind.model_fields.items()
        shown = ", ".join(name if field.is_required() else f"[{name}]" for name, field in named)
        raise typer.BadParameter(
            f"{problems(error, name)}; {name} has {shown or 'no fields'}"
        ) from error


def _texts(fields: Sequence[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for field in fields:
        name, equals, value = field.partition("=")
        if not equals:
            raise typer.BadParameter(f"{field!r} is no name=value")
        if name in texts:
            raise typer.BadParameter(f"the field {name!r} is given twice")
        texts[name] = value
    return texts


def _read(kind: type[Command], texts: dict[str, str]) -> Command:
    """Return the command; a list, message, number or null is JSON if its field takes no text."""
    try:
        return kind.model_validate_strings(texts)
    except ValidationError as error:
        wrong = {problem["loc"][0] for problem in error.errors() if problem["loc"]}
        names = [
            name for name in wrong & texts.keys() & kind.model_fields.keys()
            if JSON.match(texts[str(name)])
        ]  # fmt: skip
        if not names:
            raise
        parsed = {name: _json(str(name), texts[str(name)]) for name in names}
        return kind.model_validate_json(to_json(texts | parsed), strict=False)


def _json(name: str, text: str) -> object:
    try:
        return from_json(text)
    except ValueError as error:
        raise typer.BadParameter(f"{name} is no JSON: {error}") from error


def _expectation(text: str) -> int | Expectation:
    if text in set(Expectation):
        return Expectation(text)
    if text.isdecimal():
        return int(text)
    raise typer.BadParameter(
        f"expected version {text!r} is neither a number from 0 nor one of {', '.join(Expectation)}"
    )


def _show(response: Response, as_json: bool) -> None:
    if as_json:
        show_json(readable(response))
        return
    if response.reason is None:
        about = f"{response.aggregate_type} {response.aggregate_id!r}"
        line = Text("ACCEPTED", "green")
        line.append(f" {about} version {response.from_version} → {response.to_version}", "default")
    else:
        line = Text(f"REJECTED {response.reason}", "red")
        line.append(f": {response.message}", "default")
    show(line.append(" (duplicate)", "default") if response.duplicate else line)

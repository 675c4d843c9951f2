"""`verdict send`: one command, or a file of them."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, BinaryIO, NamedTuple

import typer
from confluent_kafka import KafkaException
from pydantic import ValidationError
from rich.text import Text

from verdict.adapters.kafka.errors import advice, settings_refused
from verdict.adapters.sql.readers.reader import Access, open_reader
from verdict.cli.fields import command_from
from verdict.cli.options import Json, known_aggregate, parse_time, possible_id, settings_of
from verdict.cli.render import note, show, show_json
from verdict.cli.send_file import SendCounts, envelopes, send_all
from verdict.cli.shutdown import exiting_on_sigterm
from verdict.client.client import Client
from verdict.client.errors import KafkaUnavailableError
from verdict.errors import TimedOutError, UnreachableError, VerdictError
from verdict.model.command import Command
from verdict.model.command_envelope import Expectation
from verdict.read_side.read_your_writes import (
    ReadToken,
    require_row_per_aggregate,
    wait_for_projection,
)
from verdict.settings.discovery import kafka_options
from verdict.settings.settings import Settings
from verdict.wire.json import readable
from verdict.wire.response import Response

app = typer.Typer(add_completion=False)

REJECTED = 3
EXPECTATIONS = "|".join(Expectation)
STOPPED = "; stopped before the end: send the file again, each command is decided once"
PROJECTION_ALONE = "--projection goes with --wait and one command"


TypeIfAny = Annotated[str | None, typer.Argument(callback=known_aggregate, help="Such as order.")]
CommandType = Annotated[str | None, typer.Argument(help="Such as PlaceOrder.")]
AggregateId = Annotated[
    str | None, typer.Option("--id", callback=possible_id, help="Of the aggregate.")
]
ExpectedVersion = Annotated[
    str | None,
    typer.Option(metavar=f"N|{EXPECTATIONS}", help="How many of its events you have seen."),
]
Fields = Annotated[
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
    field: Fields = None,
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
        _send_file(settings_of(), file, aggregate, SendCounts(wait, json))
    elif aggregate and command and id and expected_version:
        settings = settings_of()
        if projection is not None:
            if wait is None:
                raise typer.BadParameter(PROJECTION_ALONE)
            require_row_per_aggregate(settings.application, projection, aggregate)
        expected = _expectation(expected_version)
        due = None if deadline is None else parse_time(deadline)
        about = _About(expected, command_id, due, actor, correlation_id)
        asked = command_from(settings.application, aggregate, command, field or [])
        _send_one(settings, id, asked, about, _Awaited(wait, projection, json))
    else:
        given = {"AGGREGATE": aggregate, "COMMAND": command, "--id": id}
        given["--expected-version (a number, NO_STREAM, EXISTS or ANY)"] = expected_version
        lacking = ", ".join(name for name, one in given.items() if not one)
        raise typer.BadParameter(f"{lacking} is missing; else give a --file of envelopes")


class _About(NamedTuple):
    """Parameters of `Client.send`."""

    expected_version: int | Expectation
    command_id: str | None
    deadline: int | None
    actor: str | None
    correlation_id: str | None


class _Awaited(NamedTuple):
    """What to wait for, so many seconds each, and how to show it."""

    seconds: float | None
    projection: str | None
    as_json: bool


def _send_one(
    settings: Settings, aggregate_id: str, asked: Command, about: _About, awaited: _Awaited
) -> None:
    seconds, projection, as_json = awaited
    with _sending(settings) as client:
        pending = client.send(aggregate_id, asked, **about._asdict())
        client.flush()
        response = None if seconds is None else pending.wait(seconds)
    if response is None:
        if as_json:
            show_json({"command_id": pending.command_id, "sent": str(pending.source)})
        else:
            note(f"sent {pending} to {pending.source}; --wait SECONDS shows the outcome")
        return
    _show(response, as_json)
    token = ReadToken.of(response)
    if projection and seconds is not None and not response.reason and token:
        with open_reader(settings, Access.READER) as reader:
            wait_for_projection(settings.application, reader, projection, token, seconds)
        note(f"{projection} shows it")
    raise typer.Exit(REJECTED if response.reason else 0)


@contextmanager
def _sending(settings: Settings) -> Iterator[Client]:
    """Give a client; errors of its options and of a command's fields are those of this verb."""
    options = kafka_options(settings)
    servers = options.pop("bootstrap.servers")
    try:
        sender = Client(
            settings.application, servers, settings.topics, options, settings.max_command_bytes
        )
    except KafkaException as error:
        raise settings_refused(error) from error
    try:
        with sender as client:
            yield client
    except KafkaUnavailableError as error:
        hint = f": {advice(error.reason)}" if error.reason else ""
        raise UnreachableError(f"{error}{hint}") from error
    except VerdictError:  # a command that is too large is a ValueError, too
        raise
    except ValidationError as error:
        [first, *_] = error.errors(include_url=False)
        raise typer.BadParameter(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    except ValueError as error:  # an integer that Avro cannot hold
        raise typer.BadParameter(str(error)) from error


def _send_file(settings: Settings, file: str, aggregate: str | None, tally: SendCounts) -> None:
    whole = False
    try:
        with exiting_on_sigterm(), _lines(file) as opened, _sending(settings) as client:
            send_all(client, envelopes(opened, aggregate), tally)
            whole = True
    finally:
        if tally.sent:
            note(_summary(tally) + ("" if whole else STOPPED))
    if tally.unknown:
        raise TimedOutError(
            f"{len(tally.unknown)} outcomes are unknown, the first: {tally.unknown[0]}"
        )
    if tally.rejected:
        raise typer.Exit(REJECTED)


def _lines(file: str) -> AbstractContextManager[BinaryIO]:
    if file == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(file).open("rb")
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror}") from error


def _summary(tally: SendCounts) -> str:
    counted = [f"{tally.sent} sent"]
    if tally.accepted:
        counted.append(f"{tally.accepted} accepted")
    counted += [f"{count} rejected {reason}" for reason, count in tally.rejected.most_common()]
    if tally.duplicates:
        counted.append(f"{tally.duplicates} of them duplicates")
    return ", ".join(counted)


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

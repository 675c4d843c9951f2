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

from verdict.cli.fields import command_from
from verdict.cli.options import Json, kafka_options, known_aggregate, settings_of
from verdict.cli.output import note, show, show_json
from verdict.cli.positions import parse_time
from verdict.cli.send_file import Tally, envelopes, send_all
from verdict.client.client import Client
from verdict.client.errors import KafkaUnavailable, OutcomeUnknown, SendingFailed, TooLarge
from verdict.client.pending import Pending
from verdict.configuration.settings import Settings
from verdict.errors import TimedOut, Unreachable, VerdictError
from verdict.kafka.errors import advice, settings_refused
from verdict.model.command import Command
from verdict.model.command_envelope import Expectation
from verdict.read_models.read_your_writes import Token, see_that_it_shows
from verdict.read_models.read_your_writes import wait as wait_until_shown
from verdict.reading.reader import Sees, reader_of
from verdict.wire.readable import readable
from verdict.wire.response import Response

app = typer.Typer(add_completion=False)

REJECTED = 3
EXPECTATIONS = "|".join(Expectation)


@app.command()
def send(  # noqa: PLR0913  (options)
    aggregate: Annotated[
        str | None, typer.Argument(callback=known_aggregate, help="Such as order.")
    ] = None,
    command: Annotated[str | None, typer.Argument(help="Such as PlaceOrder.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="Of the aggregate.")] = None,
    expected_version: Annotated[
        str | None,
        typer.Option(metavar=f"N|{EXPECTATIONS}", help="How many events you have seen of it."),
    ] = None,
    field: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A field; may be repeated.")
    ] = None,
    command_id: Annotated[
        str | None, typer.Option(help="The same id is decided once.", show_default="a new one")
    ] = None,
    deadline: Annotated[
        str | None, typer.Option(metavar="TIME", help="Rejected when it reaches Kafka later.")
    ] = None,
    actor: Annotated[str | None, typer.Option(help="On whose behalf.")] = None,
    correlation_id: Annotated[str | None, typer.Option(help="Of the flow it belongs to.")] = None,
    file: Annotated[
        str | None, typer.Option(metavar="FILE", help="NDJSON envelopes, - for stdin.")
    ] = None,
    wait: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, help="Wait for the outcome.")
    ] = None,
    projection: Annotated[
        str | None, typer.Option(metavar="NAME", help="Wait until it shows the command, too.")
    ] = None,
    json: Json = False,
) -> None:
    """Send a command, or a file of them.

        verdict send order PlaceOrder --id order-1 --expected-version 0 --field client=ada …

    A file has one envelope a line, with "aggregate" or the AGGREGATE given here:

        {"aggregate": "order", "command_id": "c-17", "aggregate_id": "order-1",
         "expected_version": 1, "payload": {"type": "ModifyOrder", "quantity": 5}}

    Exit codes: 3 when one was rejected, 4 when an outcome is not known in time: send it again with
    the same command id. Or when the projection does not show it so many seconds after the outcome.
    """
    settings = settings_of()
    if projection is not None and (wait is None or file is not None):
        raise typer.BadParameter("--projection goes with --wait and one command")
    if file is not None:
        if command or id or field or expected_version or command_id:
            raise typer.BadParameter("--file says all of a command but the AGGREGATE")
        _send_file(settings, file, aggregate, Tally(wait, json))
        return
    if not (aggregate and command and id and expected_version):
        raise typer.BadParameter(
            "give AGGREGATE, COMMAND, --id and --expected-version, or a --file of envelopes"
        )
    if projection is not None:
        see_that_it_shows(projection, aggregate)
    about = _About(
        _expectation(expected_version),
        command_id,
        None if deadline is None else parse_time(deadline),
        actor,
        correlation_id,
    )
    asked = command_from(aggregate, command, field or [])
    pending, response = _send(settings, id, asked, about, wait)
    if response is None:
        _show_sent(pending, json)
        return
    _show(response, json)
    if projection is not None and wait is not None and not response.reason:
        _await_projection(settings, projection, response, wait)
    raise typer.Exit(REJECTED if response.reason else 0)


class _About(NamedTuple):
    """What goes with a command; its names are those of `Client.send`."""

    expected_version: int | Expectation
    command_id: str | None
    deadline: int | None
    actor: str | None
    correlation_id: str | None


def _send(
    settings: Settings, aggregate_id: str, asked: Command, about: _About, wait: float | None
) -> tuple[Pending, Response | None]:
    with _sending(settings) as client:
        pending = client.send(aggregate_id, asked, **about._asdict())
        client.flush()
        return pending, None if wait is None else pending.wait(wait)


def _await_projection(
    settings: Settings, projection: str, response: Response, seconds: float
) -> None:
    token = Token.of(response)
    if token is not None:
        with reader_of(settings, Sees.READER) as reader:
            wait_until_shown(reader, projection, token, seconds)
        note(f"{projection} shows it")


@contextmanager
def _sending(settings: Settings) -> Iterator[Client]:
    """Give a client, and say in exit codes what goes wrong with it."""
    options = kafka_options(settings)
    servers = options.pop("bootstrap.servers")
    try:
        sender = Client(servers, settings.topics, options, settings.command_limit_bytes)
    except KafkaException as error:
        raise settings_refused(error) from error
    try:
        with sender as client:
            yield client
    except OutcomeUnknown as error:
        raise TimedOut(str(error)) from error
    except TooLarge as error:
        raise VerdictError(str(error)) from error
    except KafkaUnavailable as error:
        hint = f": {advice(error.said)}" if error.said else ""
        raise Unreachable(f"{error}{hint}") from error
    except SendingFailed as error:
        raise Unreachable(str(error)) from error
    except ValidationError as error:
        [first, *_] = error.errors(include_url=False)
        raise typer.BadParameter(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def _send_file(settings: Settings, file: str, aggregate: str | None, tally: Tally) -> None:
    try:
        with _lines(file) as opened, _sending(settings) as client:
            send_all(client, envelopes(opened, aggregate), tally)
    finally:
        if tally.sent:  # so much is sent, whatever stopped the rest
            note(_summary(tally))
    if tally.unknown:
        raise TimedOut(f"{len(tally.unknown)} outcomes are unknown, the first: {tally.unknown[0]}")
    if tally.rejected:
        raise typer.Exit(REJECTED)


def _lines(file: str) -> AbstractContextManager[BinaryIO]:
    if file == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(file).open("rb")
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror}") from error


def _summary(tally: Tally) -> str:
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


def _show_sent(pending: Pending, as_json: bool) -> None:
    if as_json:
        show_json({"command_id": pending.command_id, "sent": str(pending.source)})
    else:
        note(f"sent {pending}: it lies at {pending.source}; --wait S shows the outcome")


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

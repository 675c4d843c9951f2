"""`verdict dead-letters`: records that no retry could help, which wait for an operator."""

from typing import Annotated

import typer

from verdict.cli.operator_identity import Document, Who, Why, WhyIfAny, operator_identity
from verdict.cli.options import Json, settings_of
from verdict.cli.render import note, show_fields, show_items
from verdict.operations.repair.read_side import repair

app = typer.Typer(add_completion=False)

Id = Annotated[str, typer.Argument(metavar="ID", help="As `list` prints it.")]

Waiting = Annotated[bool, typer.Option("--waiting", help="Also those that wait for a retry.")]


@app.callback()
def dead_letters() -> None:
    """Records that could not be processed: they wait for a retry, or are parked for an operator."""


@app.command("list")
def list_dead_letters(waiting: Waiting = False, json: Json = False) -> None:
    """List the parked dead letters in the order in which Kafka got them."""
    with repair(settings_of()) as on:
        show_items(
            on.dead_letters.listed(waiting), ("id", "status", "since", "what", "error"), json
        )


@app.command("show")
def show_dead_letter(id: Id, json: Json = False) -> None:
    """Show one: its bytes, its headers, the error, and what operators did about it."""
    with repair(settings_of()) as on:
        show_fields(on.dead_letters.shown(id), json)


@app.command()
def edit(id: Id, file: Document, reason: Why, by: Who = None) -> None:
    """Set another value for it; the file is the whole value. It stays parked until `replay`."""
    with repair(settings_of()) as on:
        note(on.dead_letters.edit(id, file.read(), operator_identity(by, reason)))


@app.command()
def replay(id: Id, by: Who = None, reason: WhyIfAny = None) -> None:
    """Let the running service send it again."""
    with repair(settings_of()) as on:
        note(on.dead_letters.replay(id, operator_identity(by, reason)))


@app.command()
def park(id: Id, reason: Why, by: Who = None) -> None:
    """Stop the retries of one that waits; `replay` sends it again."""
    with repair(settings_of()) as on:
        note(on.dead_letters.park(id, operator_identity(by, reason)))


@app.command()
def skip(id: Id, reason: Why, by: Who = None) -> None:
    """Give it up; it stays on the topic `dead-letters`."""
    with repair(settings_of()) as on:
        note(on.dead_letters.skip(id, operator_identity(by, reason)))

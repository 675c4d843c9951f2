"""`verdict blocked`: aggregates whose events a projection cannot apply."""

from typing import Annotated

import typer

from verdict.cli.operator_identity import Document, Who, Why, WhyIfAny, operator_identity
from verdict.cli.options import Json, settings_of
from verdict.cli.render import note, show_fields, show_items
from verdict.operations.repair.read_side import repair

app = typer.Typer(add_completion=False)

Id = Annotated[
    str, typer.Argument(metavar="ID", help="As `list` prints it, such as us_holder/position/p-7.")
]
All = Annotated[bool, typer.Option("--all", help="Also skip the later events that wait.")]


@app.callback()
def blocked() -> None:
    """Aggregates that a projection blocks: at an event that it cannot apply, or that is missing."""


@app.command("list")
def list_blocked(json: Json = False) -> None:
    """List the blocked aggregates of each projection, and how many events wait behind."""
    with repair(settings_of()) as on:
        show_items(on.blocked.listed(), ("id", "since", "behind", "error"), json)


@app.command("show")
def show_blocked(id: Id, json: Json = False) -> None:
    """Show one: the event with its payload, why it is blocked, and what operators did about it."""
    with repair(settings_of()) as on:
        show_fields(on.blocked.shown(id), json)


@app.command()
def edit(id: Id, file: Document, reason: Why, by: Who = None) -> None:
    """Set another payload for the event, in this projection only; the log is not changed.

    It also counts when the projection is built again. A payload that the event's class refuses is
    refused here. `retry` applies it.
    """
    with repair(settings_of()) as on:
        note(on.blocked.edit(id, file.read(), operator_identity(by, reason)))


@app.command()
def retry(id: Id, by: Who = None, reason: WhyIfAny = None) -> None:
    """Apply the event now, and those that wait behind it; exit code 1 when it fails again."""
    with repair(settings_of()) as on:
        note(on.blocked.retry(id, operator_identity(by, reason)))


@app.command()
def skip(id: Id, reason: Why, all_behind: All = False, by: Who = None) -> None:
    """Skip the event, or versions that never came, in this projection; later ones are applied.

    It also counts when the projection is built again.
    """
    with repair(settings_of()) as on:
        note(on.blocked.skip(id, operator_identity(by, reason), all_behind))


@app.command()
def accept(id: Id, reason: Why, by: Who = None) -> None:
    """Let `export` go on with the aggregate as it was before that event.

    It stays blocked. Its event can still come, be edited or be skipped.
    """
    with repair(settings_of()) as on:
        note(on.blocked.accept(id, operator_identity(by, reason)))

"""`verdict blocked` and `verdict dead-letters`: what waits for an operator."""

from typing import Annotated

import typer

from verdict.cli.options import Document, Json, Who, Why, WhyIfAny, operator_identity, settings_of
from verdict.cli.render import note, show_fields, show_items
from verdict.operations.repair.repair_session import repair

blocked = typer.Typer(
    help="Aggregates that a projection blocks: it cannot apply an event, or one is missing."
)
dead_letters = typer.Typer(
    help="Records that could not be processed: they wait for a retry, or are parked."
)
app = typer.Typer(add_completion=False)
app.add_typer(blocked, name="blocked")
app.add_typer(dead_letters, name="dead-letters")

Blocked = Annotated[
    str, typer.Argument(metavar="ID", help="As `list` prints it, such as us_holder/position/p-7.")
]
All = Annotated[bool, typer.Option("--all", help="Also skip the later events that wait.")]
DeadLetter = Annotated[str, typer.Argument(metavar="ID", help="As `list` prints it.")]
AlsoWaiting = Annotated[bool, typer.Option("--waiting", help="Also those that wait for a retry.")]


@blocked.command("list")
def list_blocked(json: Json = False) -> None:
    """List the blocked aggregates of each projection, and how many events wait behind."""
    with repair(settings_of()) as on:
        show_items(on.blocked.listed(), ("id", "since", "behind", "error"), json)


@blocked.command("show")
def show_blocked(id: Blocked, json: Json = False) -> None:
    """Show one: the event with its payload, why it is blocked, and what operators did about it."""
    with repair(settings_of()) as on:
        show_fields(on.blocked.shown(id), json)


@blocked.command("edit")
def edit_blocked(id: Blocked, file: Document, reason: Why, by: Who = None) -> None:
    """Set another payload for the event, in this projection only; the log is not changed.

    It also counts when the projection is built again. A payload that the event's class refuses is
    refused here. `retry` applies it.
    """
    with repair(settings_of()) as on:
        note(on.blocked.edit(id, file.read(), operator_identity(by, reason)))


@blocked.command()
def retry(id: Blocked, by: Who = None, reason: WhyIfAny = None) -> None:
    """Apply the event now, and those that wait behind it; exit code 1 when it fails again."""
    with repair(settings_of()) as on:
        note(on.blocked.retry(id, operator_identity(by, reason)))


@blocked.command("skip")
def skip_blocked(id: Blocked, reason: Why, all_behind: All = False, by: Who = None) -> None:
    """Skip the event, or versions that never came, in this projection; later ones are applied.

    It also counts when the projection is built again.
    """
    with repair(settings_of()) as on:
        note(on.blocked.skip(id, operator_identity(by, reason), all_behind))


@dead_letters.command("list")
def list_dead_letters(waiting: AlsoWaiting = False, json: Json = False) -> None:
    """List the parked dead letters in the order in which Kafka got them."""
    columns = ("id", "status", "since", "what", "error")
    with repair(settings_of()) as on:
        show_items(on.dead_letters.listed(waiting), columns, json)


@dead_letters.command("show")
def show_dead_letter(id: DeadLetter, json: Json = False) -> None:
    """Show one: its bytes, its headers, the error, and what operators did about it."""
    with repair(settings_of()) as on:
        show_fields(on.dead_letters.shown(id), json)


@dead_letters.command("edit")
def edit_dead_letter(id: DeadLetter, file: Document, reason: Why, by: Who = None) -> None:
    """Set another value for it; the file is the whole value. It stays parked until `replay`."""
    with repair(settings_of()) as on:
        note(on.dead_letters.edit(id, file.read(), operator_identity(by, reason)))


@dead_letters.command()
def replay(id: DeadLetter, by: Who = None, reason: WhyIfAny = None) -> None:
    """Let the running service send it again."""
    with repair(settings_of()) as on:
        note(on.dead_letters.replay(id, operator_identity(by, reason)))


@dead_letters.command()
def park(id: DeadLetter, reason: Why, by: Who = None) -> None:
    """Stop the retries of one that waits; `replay` sends it again."""
    with repair(settings_of()) as on:
        note(on.dead_letters.park(id, operator_identity(by, reason)))


@dead_letters.command("skip")
def skip_dead_letter(id: DeadLetter, reason: Why, by: Who = None) -> None:
    """Give it up; it stays on the topic `dead-letters`."""
    with repair(settings_of()) as on:
        note(on.dead_letters.skip(id, operator_identity(by, reason)))

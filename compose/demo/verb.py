"""`verdict demo`: the whole path on throw-away data, told and checked."""

from pathlib import Path
from typing import Annotated

import typer

from compose.demo.telling import run

app = typer.Typer(add_completion=False)

COMMANDS = 20_000
FEWEST = 200  # with fewer there are no races in the load


@app.command()
def demo(
    commands: Annotated[
        int, typer.Option(min=FEWEST, help="How many the load sends, rounded up to even.")
    ] = COMMANDS,
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the data in this new directory.")
    ] = None,
) -> None:
    """Show the whole path on throw-away data, and check what it shows.

    It starts its own Kafka, whatever the settings say, and leaves nothing behind. Exit codes: 0
    when everything is what it must be, 1 when something is not: it is named at the end.
    """
    checks = run(commands + commands % 2, keep)
    if checks.differences:
        raise typer.Exit(1)

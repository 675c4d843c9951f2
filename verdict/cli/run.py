"""`verdict run ROLE`: one of those that `verdict up` has, as a process of its own."""

from typing import Annotated

import typer

from verdict.cli.options import settings_of
from verdict.cli.up import serve
from verdict.service.role_set import alone, with_kafka
from verdict.service.roles import ROLES

app = typer.Typer()


@app.command()
def run(
    role: Annotated[str, typer.Argument(help=", ".join(one.name for one in ROLES))],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Of read models, all without.", show_default=False
        ),
    ] = None,
) -> None:
    """Run one role of the deployment until stopped; the others are processes of their own.

    Each has its own Spark, its own lock and its own restart, here or on another machine; two of a
    kind refuse each other. Kafka is the one that is set, or that of `verdict run broker` on the
    same data directory.
    """
    settings = settings_of()
    role_set = alone(settings, role, names or ())
    serve(with_kafka(settings, role), role_set=role_set)

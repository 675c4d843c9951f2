"""`verdict`: data on stdout, progress and log on stderr, exit codes that scripts can tell apart."""

from importlib.metadata import version
from typing import Annotated

import typer

from verdict.cli.commands import Verbs
from verdict.cli.connection import app_option
from verdict.cli.shutdown import silence_py4j

app = typer.Typer(cls=Verbs, name="verdict", no_args_is_help=True, pretty_exceptions_enable=False)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"verdict {version('verdict-cqrs')}")
        raise typer.Exit


@app.callback()
def verdict(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    app: Annotated[str | None, app_option()] = None,
) -> None:
    """Commands on Kafka, one verdict each, tables to query.

    Settings: flag > VERDICT_* > .env > verdict.toml > default; `verdict config show` lists them.

    Exit codes: 0 ok, 1 failure, 2 usage, 3 rejected, 4 timed out, 5 Kafka, database or mail
    server unreachable, 6 no Java or no jars, 130 Ctrl-C.
    """


def main() -> None:
    """Run the command line."""
    silence_py4j()
    app(prog_name="verdict")

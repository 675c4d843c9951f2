"""`verdict`: data on stdout, progress and log on stderr, exit codes that scripts can tell apart."""

import errno
import logging
import sys
from collections.abc import Iterable
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from verdict.adapters.local import permissions
from verdict.cli.application import app_option
from verdict.cli.shutdown import silence_py4j
from verdict.cli.verbs import VERBS, application_verbs, join_lines, loaded
from verdict.errors import VerdictError
from verdict.model.application import Verb
from verdict.wire.control_characters import escape_lines

# what the user of a machine can change; any other error of the operating system is a bug
ADVICE = {
    errno.ENOSPC: "make room",
    errno.EDQUOT: "make room",
    errno.EFBIG: "lift the limit on file sizes (`ulimit -f`)",
    errno.EROFS: "mount it for writing",
    errno.EACCES: "let this user read and write it",
    errno.EIO: "see that its disk works",
    errno.EMFILE: "allow more open files (`ulimit -n`)",
    errno.ENFILE: "let the system open more files",
}


class LazyVerb(TyperCommand):
    """A verb in the list of verbs; its module is imported when it is called."""

    def __init__(self, verb: Verb) -> None:
        super().__init__(verb.name, help=verb.summary, rich_help_panel=verb.panel)
        self._verb = verb

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Return the context of the verb's own command, which then runs."""
        return loaded(self._verb).make_context(*args, **kwargs)


class LazyGroup(TyperGroup):
    """The verbs of the engine and of the application; turns errors into exit codes."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        join_lines(self)
        self._add(VERBS)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all verbs, the engine's first."""
        try:
            self._add(application_verbs())
        except VerdictError as error:
            _report(f"{error}: its verbs are not listed")
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a verb; None if there is no such verb."""
        if cmd_name not in self.commands:
            self._add(application_verbs())
        return super().get_command(ctx, cmd_name)

    def _add(self, verbs: Iterable[Verb]) -> None:
        for verb in verbs:
            self.commands.setdefault(verb.name, LazyVerb(verb))

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the verb; an error that a user can act on is one line, a bug keeps its traceback.

        Exit codes: those of `verdict.errors`; 2 for a wrong command line, 130 for Ctrl-C.
        """
        permissions.keep_to_ourselves()
        log_messages_only()
        try:
            return super().main(*args, **kwargs)
        except VerdictError as error:
            _report(str(error))
            sys.exit(error.exit_code)
        except OSError as error:
            if error.errno not in ADVICE:
                raise
            _report(f"the system refused ({error}): {ADVICE[error.errno]}, then try again")
            sys.exit(VerdictError.exit_code)


def _report(text: str) -> None:
    typer.echo(f"verdict: {escape_lines(text)}", err=True)


class MessageFormatter(logging.Formatter):
    """Formats a record of the log as its message alone, escaped, without a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        return escape_lines(record.getMessage())


def log_messages_only() -> None:
    """Log messages alone on stderr; a service, which adds a handler, logs tracebacks too."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(MessageFormatter())


app = typer.Typer(
    cls=LazyGroup, name="verdict", no_args_is_help=True, pretty_exceptions_enable=False
)


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

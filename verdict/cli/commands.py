"""The verbs; a module of a verb, and all that it imports, is loaded when the verb is called."""

import errno
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from verdict.adapters.local import permissions
from verdict.adapters.spark.gc import collector_paused
from verdict.cli.application import load_if_named
from verdict.cli.connection import add_connection
from verdict.cli.logged import log_messages_only
from verdict.errors import EnvironmentIncompleteError, VerdictError
from verdict.model.verb import Verb

RUN = "Run"
ASK = "Commands and what became of them"
READ = "Read side"
SET_UP = "Set-up"


def _listed(name: str, summary: str, panel: str, alone: bool = False) -> Verb:
    return Verb(name, summary, panel, f"verdict.cli.{name.replace('-', '_')}", alone)


VERBS = (
    _listed("up", "Run broker, decider and projections until stopped.", RUN),
    _listed("run", "Run one role alone: decider, projections, lake and so on.", RUN),
    _listed("recover", "Rebuild the decider's state from Kafka; change the shards.", RUN),
    _listed("reset-progress", "Replace a lost progress record of policies or lake.", RUN),
    _listed("serve", "Serve the page, metrics and REST without a service.", RUN),
    _listed("status", "Show what runs, how far it has come, and what is stopped.", RUN),
    _listed("send", "Send a command, or a file of them; wait for the outcome.", ASK),
    _listed("tail", "Print the records of a topic, decoded, as they come.", ASK),
    _listed("history", "Show what was asked of one aggregate, and what came of it.", ASK),
    _listed("trace", "Show a flow as a tree, by its correlation id.", ASK),
    _listed("explain", "Show why a command ended as it did, and who won.", ASK),
    _listed("spans", "Send spans of commands to an OpenTelemetry collector.", ASK),
    _listed("state", "Show one aggregate or all of a type, now or as they were.", ASK),
    _listed("verify", "Check that log, archive, state and projections agree.", ASK),
    _listed("sql", "Run a read-only query; without one, say which views there are.", READ),
    _listed("projection", "Rebuild a projection, compare, promote, roll back.", READ),
    _listed("blocked", "See blocked aggregates; edit, retry or skip one.", READ),
    _listed("dead-letters", "See dead letters; edit, replay, park or skip one.", READ),
    _listed("skip", "Skip records that cannot be used, on record.", READ),
    _listed("export", "Export a projection as of a position to a file or a topic.", READ),
    _listed("describe", "Show aggregates, commands, events, topics and views.", SET_UP),
    _listed("new", "Write an application, an aggregate or a projection.", SET_UP, alone=True),
    _listed("topics", "Create the topics, or check them.", SET_UP),
    _listed("schemas", "Check the Avro schemas; put them into a registry.", SET_UP),
    _listed("acls", "Print the least that Kafka must allow each role.", SET_UP),
    _listed("warmup", "Make every later start quicker, once for this machine.", SET_UP),
    _listed("config", "Show the settings and where each comes from.", SET_UP),
)


OF_A_SERVICE = dict.fromkeys(("pyspark", "pandas", "pyarrow", "lmdb", "google"), "service")
OF_A_PAGE = dict.fromkeys(("fastapi", "jinja2", "prometheus_client", "uvicorn"), "page")
OF_TRACING = {"opentelemetry": "otel"}
# package → the extra of pyproject.toml that brings it
EXTRAS = OF_A_SERVICE | OF_A_PAGE | OF_TRACING

# what a person can mend at a machine; the rest of what the system refuses is a bug of ours
SHORT = {
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


class Verbs(TyperGroup):
    """The verbs of the engine and of the application; turns errors into exit codes, only here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _flow(self)
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

    def _add(self, verbs: Sequence[Verb]) -> None:
        for verb in verbs:
            self.commands.setdefault(verb.name, LazyVerb(verb))

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the verb; an error that a person can act on is one line, a bug keeps its traceback.

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
            if error.errno not in SHORT:
                raise
            _report(f"the system refused ({error}): {SHORT[error.errno]}, then try again")
            sys.exit(VerdictError.exit_code)


def _report(text: str) -> None:
    from verdict.wire.terminal import escape_lines  # most calls report nothing

    typer.echo(f"verdict: {escape_lines(text)}", err=True)


def loaded(verb: Verb) -> Any:
    """Return the command of a verb, or the group of its commands."""
    # else the first model looks for plugins in the metadata of every package that is installed;
    # who wants theirs sets it to nothing
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        # what modules are made of never dies, and would be looked through two hundred times: a
        # tenth of what a verb takes that only reads
        with collector_paused():
            command = typer.main.get_command(import_module(verb.module).app)
            gc.freeze()
    except ModuleNotFoundError as error:
        if (extra := EXTRAS.get((error.name or "").partition(".")[0])) is None:
            raise
        raise EnvironmentIncompleteError(
            f"`verdict {verb.name}` needs {error.name}, which is not installed: "
            f"pip install 'verdict-cqrs[{extra}]'"
        ) from error
    command.name = verb.name
    _flow(command)
    if not verb.alone:
        add_connection(command)
    return command


def _flow(command: Any) -> None:
    """Let the width of the terminal break the lines of what a command and those below it say."""
    paragraphs = (command.help or "").split("\n\n")
    command.help = "\n\n".join(" ".join(one.split()) for one in paragraphs)
    for below in getattr(command, "commands", {}).values():
        _flow(below)


def application_verbs() -> tuple[Verb, ...]:
    """Return the verbs of the application; none if there is no application.

    Raises:
        ApplicationNotFoundError, InvalidApplicationError: It cannot be loaded.
    """
    application = load_if_named()
    return () if application is None else application.verbs

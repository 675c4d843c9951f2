"""Which verbs there are; their modules, and all that those import, are loaded when called."""

import errno
import gc
import os
import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from verdict.cli.application import load_if_named
from verdict.cli.connection import add_connection
from verdict.cli.logged import tell_messages_alone
from verdict.cli.own_verbs import verbs_by_text
from verdict.errors import EnvironmentIncomplete, VerdictError
from verdict.local import private
from verdict.model.verb import Verb
from verdict.operator.collector import collector_paused

RUN = "Run"
ASK = "Commands and what became of them"
READ = "Read side"
SET_UP = "Set-up"


def _listed(name: str, summary: str, panel: str, alone: bool = False) -> Verb:
    return Verb(name, summary, panel, f"verdict.cli.{name}", alone)


VERBS = (
    _listed("up", "Run broker, decider and projections until stopped.", RUN),
    _listed("run", "Run one role alone: decider, read-models, lake and so on.", RUN),
    _listed("recover", "Rebuild the decider's state from Kafka; change the shards.", RUN),
    _listed("page", "Serve a page, metrics and REST by themselves.", RUN),
    _listed("status", "Show what runs, how far it has come, and what is stopped.", RUN),
    _listed("send", "Send a command, or a file of them; wait for the outcome.", ASK),
    _listed("tail", "Print the records of a topic, decoded, as they come.", ASK),
    _listed("history", "Show what was asked of one aggregate, and what came of it.", ASK),
    _listed("trace", "Show a flow as a tree, by its correlation id.", ASK),
    _listed("why", "Show why a command ended as it did, and who won.", ASK),
    _listed("spans", "Send spans of commands to an OpenTelemetry collector.", ASK),
    _listed("state", "Show one aggregate or all of a type, now or as they were.", ASK),
    _listed("verify", "See whether log, archive, state and read models hold together.", ASK),
    _listed("sql", "Run a read-only query; without one, say which views there are.", READ),
    _listed("projection", "Build a read model again, compare, swap, roll back.", READ),
    _listed("letters", "See what could not be handled; mend, replay or evict it.", READ),
    _listed("materialise", "Write a read model as it was to a file or a topic.", READ),
    _listed("mail", "Record the mails of a week; send them.", READ),
    _listed("describe", "Show aggregates, commands, events, topics and views.", SET_UP),
    _listed("new", "Write an application, an aggregate, a read model.", SET_UP, alone=True),
    _listed("topics", "Create the topics, or check them.", SET_UP),
    _listed("schemas", "Check the Avro schemas; put them into a registry.", SET_UP),
    _listed("acls", "Print the least that Kafka must allow each role.", SET_UP),
    _listed("warm", "Make every later start quicker, once for this machine.", SET_UP),
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


class Verbs(TyperGroup):
    """Lists the verbs without loading them, and turns errors into exit codes, in this one place.

    Those of the application are listed by its text, and loaded when they are called: a list that
    loads it is slow, and of one that is broken there would be none.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _flow(self)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all verbs, the engine's first."""
        ours = super().list_commands(ctx)
        return ours + [verb.name for verb in verbs_by_text() if verb.name not in ours]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a verb's entry in the list; None if there is no such verb."""
        known = super().get_command(ctx, cmd_name)
        if known is not None:
            return known
        by_text = next((verb for verb in verbs_by_text() if verb.name == cmd_name), None)
        verb = by_text or _own_verb(cmd_name)
        return None if verb is None else entry_of(verb)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the loaded verb instead of its entry in the list."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, loaded(verb_of(name)) if name else None, rest

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the verb; what a person can act on is said in one line, a bug keeps its traceback.

        Exit codes: those of `verdict.errors`; 2 for a wrong command line, 130 for Ctrl-C.
        """
        private.keep_to_ourselves()
        tell_messages_alone()
        try:
            return super().main(*args, **kwargs)
        except VerdictError as error:
            from verdict.wire.escapes import spelled_lines

            typer.echo(f"verdict: {spelled_lines(str(error))}", err=True)
            sys.exit(error.exit_code)
        except OSError as error:
            if error.errno not in SHORT:
                raise
            advice = SHORT[error.errno]
            typer.echo(f"verdict: the system refused ({error}): {advice}, then try again", err=True)
            sys.exit(VerdictError.exit_code)


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
        raise EnvironmentIncomplete(
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


def verb_of(name: str) -> Verb:
    """Return the verb of this name, the engine's own before the application's.

    Raises:
        VerdictError: The application lists it in its text alone.
    """
    ours = next((verb for verb in VERBS if verb.name == name), None)
    if (found := ours or _own_verb(name)) is None:
        raise VerdictError(f"the application has no verb {name!r}, though its text lists one")
    return found


def entry_of(verb: Verb) -> Any:
    """Return what stands for a verb in the list until it is called."""
    entry = typer.Typer(add_completion=False)

    @entry.command(verb.name, help=verb.summary, rich_help_panel=verb.panel)
    def listed() -> None:
        raise AssertionError(f"{verb.name} is loaded from its module")

    return typer.main.get_command(entry)


def _own_verb(name: str) -> Verb | None:
    application = load_if_named()
    own = () if application is None else application.verbs
    return next((verb for verb in own if verb.name == name), None)

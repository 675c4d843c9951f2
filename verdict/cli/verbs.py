"""Which verbs there are; their modules, and all that those import, are loaded when called."""

import errno
import sys
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup

from verdict.cli.connection import add_connection
from verdict.cli.escapes import spelled_lines
from verdict.errors import VerdictError
from verdict.local import private


class Verb(NamedTuple):
    """A verb as `verdict --help` lists it; the module of its name holds it as `app`."""

    name: str
    summary: str
    panel: str


RUN = "Run"
ASK = "Commands and what became of them"
READ = "Read side"
SET_UP = "Set-up"

VERBS = (
    Verb("up", "Run broker, decider and projections until stopped.", RUN),
    Verb("demo", "Show the whole path on throw-away data.", RUN),
    Verb("recover", "Rebuild the decider's state from Kafka; change the shards.", RUN),
    Verb("status", "Show what runs, how far it has come, and what stands still.", RUN),
    Verb("send", "Send a command, or a file of them; wait for the outcome.", ASK),
    Verb("tail", "Print the records of a topic, decoded, as they come.", ASK),
    Verb("history", "Show what was asked of one aggregate, and what came of it.", ASK),
    Verb("state", "Show one aggregate or all of a type, now or as they were.", ASK),
    Verb("verify", "See whether log, archive, state and read models hold together.", ASK),
    Verb("sql", "Run a read-only query; without one, say which views there are.", READ),
    Verb("projection", "Build a read model again, compare, swap, roll back.", READ),
    Verb("letters", "See what could not be handled; mend, replay or evict it.", READ),
    Verb("materialise", "Write a read model as it was to a file or a topic.", READ),
    Verb("mail", "Record the mails of a week to holders of US stock; send them.", READ),
    Verb("topics", "Create the topics, or check them.", SET_UP),
    Verb("schemas", "Check the Avro schemas; put them into a registry.", SET_UP),
    Verb("acls", "Print the least that Kafka must allow each role.", SET_UP),
    Verb("config", "Show the settings and where each comes from.", SET_UP),
)


ALONE = "demo"  # starts all that it needs, whatever is set

# what a machine can run short of; the rest of what the system refuses is a bug of ours
SHORT = {
    errno.ENOSPC: "make room",
    errno.EDQUOT: "make room",
    errno.EFBIG: "lift the limit on file sizes (`ulimit -f`)",
    errno.EROFS: "mount it for writing",
    errno.EMFILE: "allow more open files (`ulimit -n`)",
    errno.ENFILE: "let the system open more files",
}


class Verbs(TyperGroup):
    """Lists the verbs without loading them, and turns errors into exit codes, in this one place."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the loaded verb instead of its entry in the list."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, loaded(name) if name else None, rest

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the verb; what a person can act on is said in one line, a bug keeps its traceback.

        Exit codes: those of `verdict.errors`; 2 for a wrong command line, 130 for Ctrl-C.
        """
        private.keep_to_ourselves()
        try:
            return super().main(*args, **kwargs)
        except VerdictError as error:
            typer.echo(f"verdict: {spelled_lines(str(error))}", err=True)
            sys.exit(error.exit_code)
        except OSError as error:
            if error.errno not in SHORT:
                raise
            advice = SHORT[error.errno]
            typer.echo(f"verdict: the system refused ({error}): {advice}, then try again", err=True)
            sys.exit(VerdictError.exit_code)


def loaded(name: str) -> Any:
    """Return the command of a verb, or the group of its commands."""
    verb = typer.main.get_command(import_module(f"verdict.cli.{name}").app)
    verb.name = name
    if name != ALONE:
        add_connection(verb)
    return verb

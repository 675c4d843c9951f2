"""The verbs: what `verdict --help` lists, and how a verb is loaded when it is called."""

import gc
import os
from importlib import import_module
from typing import Any

import typer

from verdict.adapters.spark.gc import collector_paused
from verdict.cli.application import add_connection, load_if_named
from verdict.errors import EnvironmentIncompleteError
from verdict.model.application import Verb

RUN = "Run"
ASK = "Commands and what became of them"
READ = "Read side"
SET_UP = "Set-up"
SHARED = {  # verb → module, where several share one
    "history": "trace",
    "explain": "trace",
    "run": "up",
    "warmup": "up",
    "skip": "recover",
    "reset-progress": "recover",
    "blocked": "repair",
    "dead-letters": "repair",
}


def _listed(name: str, summary: str, panel: str, alone: bool = False) -> Verb:
    module = SHARED.get(name, name.replace("-", "_"))
    return Verb(name, summary, panel, f"verdict.cli.{module}", alone)


VERBS = (
    _listed("up", "Run all roles until stopped.", RUN),
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
    _listed("sql", "Run a read-only query; without one, list the views.", READ),
    _listed("projection", "Rebuild a projection, compare, promote, roll back.", READ),
    _listed("blocked", "See blocked aggregates; edit, retry or skip one.", READ),
    _listed("dead-letters", "See dead letters; edit, replay, park or skip one.", READ),
    _listed("skip", "Skip records that cannot be used, on record.", READ),
    _listed("export", "Export a projection as of a position to a file or a topic.", READ),
    _listed("describe", "Show aggregates, commands, events, topics and views.", SET_UP),
    _listed("new", "Write an application, an aggregate or a projection.", SET_UP, alone=True),
    _listed("topics", "Create the topics, or check them.", SET_UP),
    _listed("schemas", "Check or write the Avro schemas; publish them to a registry.", SET_UP),
    _listed("acls", "Print the least that Kafka must allow each role.", SET_UP),
    _listed("warmup", "Make every later start quicker, once for this machine.", SET_UP),
    _listed("config", "Show the settings and where each comes from.", SET_UP),
)

OF_A_SERVICE = dict.fromkeys(("pyspark", "pandas", "pyarrow", "lmdb", "google"), "service")
OF_A_PAGE = dict.fromkeys(("fastapi", "jinja2", "prometheus_client", "uvicorn"), "page")
# package → the extra of pyproject.toml that brings it
EXTRAS = OF_A_SERVICE | OF_A_PAGE | {"opentelemetry": "otel"}


def application_verbs() -> tuple[Verb, ...]:
    """Return the verbs of the application; none if there is no application.

    Raises:
        ApplicationNotFoundError, InvalidApplicationError: It cannot be loaded.
    """
    application = load_if_named()
    return () if application is None else application.verbs


def loaded(verb: Verb) -> Any:
    """Return the command of a verb, or the group of its commands."""
    # without this, the first model looks for plugins in the metadata of every installed package;
    # a user who wants plugins sets the variable to nothing
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        # modules live until the end: collecting them takes a tenth of the time of a reading verb
        with collector_paused():
            command: Any = typer.main.get_command(import_module(verb.module).app)
            gc.freeze()
    except ModuleNotFoundError as error:
        if (extra := EXTRAS.get((error.name or "").partition(".")[0])) is None:
            raise
        raise EnvironmentIncompleteError(
            f"`verdict {verb.name}` needs {error.name}, which is not installed: "
            f"pip install 'verdict-cqrs[{extra}]'"
        ) from error
    command = getattr(command, "commands", {}).get(verb.name, command)  # of a module of several
    command.name = verb.name
    join_lines(command)
    if not verb.alone:
        add_connection(command)
    return command


def join_lines(command: Any) -> None:
    """Leave the line breaks in the help of a command, and of those below it, to the terminal."""
    paragraphs = (command.help or "").split("\n\n")
    command.help = "\n\n".join(" ".join(one.split()) for one in paragraphs)
    for below in getattr(command, "commands", {}).values():
        join_lines(below)

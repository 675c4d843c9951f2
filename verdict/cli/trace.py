"""`verdict trace` and `verdict explain`: a flow as a tree, and why one command ended as it did."""

from collections.abc import Iterable, Iterator
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from verdict.adapters.sql.readers.reader import Access, open_reader
from verdict.cli.options import Json, settings_of
from verdict.cli.render import add_rows, in_json, note, show, show_json, table
from verdict.errors import VerdictError
from verdict.model.message import Fields
from verdict.operations.inspect.flow import flow
from verdict.operations.inspect.flow import why as explain_command
from verdict.operations.inspect.queries import MOST
from verdict.wire.control_characters import escape

app = typer.Typer(add_completion=False)

FROM_COLUMNS = (
    "fields of events are read from the columns of the archive; --as auditor reads them from the "
    "events' own bytes"
)
MOST_ASKED = 1_000_000  # all are in memory at once
SHOWN = 10  # repetitions of a command
OUTCOME = ("aggregate_type", "aggregate_id", "command_id", "status", "reason", "to_version")

Limit = Annotated[
    int, typer.Option(min=1, max=MOST_ASKED, help="How many commands and events at most.")
]
Role = Annotated[Access, typer.Option("--as", help="How much to see: auditors payloads.")]


@app.command()
def trace(
    correlation_id: Annotated[str, typer.Argument(help="Of the flow.")],
    role: Role = Access.READER,
    limit: Limit = MOST,
    json: Json = False,
) -> None:
    """Show a flow as a tree: each command, its events, and the commands that policies sent for it.

    Rejected commands are included. A command that was sent again is shown once, with the positions
    of its repetitions. The data comes from the read side; the exit code is 1 if it does not know
    the flow. With --json one object per command record that no event in the flow caused, the others
    below the events that caused them; `checked` says whether an event's fields were read from its
    bytes, which auditors may see, or from the columns of the archive.
    """
    settings = settings_of()
    with open_reader(settings, role) as reader:
        found, more = flow(settings.application, reader, correlation_id, limit)
    if not found:
        raise VerdictError(f"the read side knows no command of the flow {correlation_id!r}")
    if json:
        for node in found:
            show_json(node)
    else:
        show(*_lines(found, ""))
        if not _all_checked(found):
            note(FROM_COLUMNS)
    if more:
        note(f"only the first {limit} commands and events of the flow are shown: raise --limit")


@app.command()
def explain(
    command_id: Annotated[str, typer.Argument(help="Of the command.")],
    role: Role = Access.READER,
    json: Json = False,
) -> None:
    """Show why a command ended as it did: what it met, and what to send instead.

    A command that was sent again is shown once, with the positions of its repetitions; with --json
    there is an object for each record. The data comes from the read side; the exit code is 1 if it
    does not know the command. `checked` is as in `verdict trace`. `verdict state … --at-version`
    shows the aggregate at that version.
    """
    settings = settings_of()
    with open_reader(settings, role) as reader:
        found = explain_command(settings.application, reader, command_id)
    if not found:
        raise VerdictError(f"the read side knows no outcome of a command {command_id!r}")
    if json:
        for one in found:
            show_json(one)
        return
    for one, repeated in fold_repetitions(found):
        show(*_explanation(one, repeated))
    if not all(event["checked"] for one in found for event in (*one["winners"], *one["events"])):
        note(FROM_COLUMNS)


def _explanation(one: Fields, repeated: list[Fields]) -> Iterator[Table | Text]:
    response = one["response"]
    about = f"{response['aggregate_type']} {response['aggregate_id']!r}"
    yield Text(f"{response['command_type']} to {about} ").append_text(outcome_text(response))
    if one["doubt"]:
        yield Text(one["doubt"], "yellow")
    names = ("decided_at", "expected_version", "correlation_id", "actor", "rule_code")
    facts = [(name, response[name]) for name in names]
    facts += [("cause", _cause(one["cause"])), ("met_version", one["met_version"])]
    facts += [("instead", one["instead"])]
    facts += [("sent again", repetitions_text(repeated) or None)]
    yield add_rows(table("", ""), (fact for fact in facts if fact[1] is not None))
    for title, events in (("had not seen", one["winners"]), ("caused", one["events"])):
        if events:
            rows = (
                [e["version"], e["event_type"], e["command_id"], fields_text(e)] for e in events
            )
            yield add_rows(table(title, "event", "by command", "", numbers=(title,)), rows)


def _cause(event: Fields | None) -> str | None:
    if event is None:
        return None
    about = f"{event['event_type']}, version {event['version']} of {event['aggregate_type']}"
    return f"{about} {event['aggregate_id']!r}, by command {event['command_id']}"


def _lines(nodes: Iterable[Fields], indent: str) -> Iterator[Text]:
    for node, repeated in fold_repetitions(nodes):
        yield Text(indent).append_text(_command(node))
        if node["doubt"]:
            yield Text(f"{indent}  {node['doubt']}", "yellow")
        for event in node["events"]:
            line = Text(f"{indent}  {event['version']} {event['event_type']}")
            fields = fields_text(event)
            yield line.append(f", {fields}" if fields else "", "dim")
            yield from _lines(event["asked"], f"{indent}    ")
        if repeated:
            yield Text(f"{indent}  sent again: {repetitions_text(repeated)}", "dim")


def _all_checked(nodes: Iterable[Fields]) -> bool:
    return all(
        event["checked"] and _all_checked(event["asked"])
        for node in nodes
        for event in node["events"]
    )


def _command(node: Fields) -> Text:
    response = node["response"]
    if response is None:
        return Text(f"command {node['command_id']}: its outcome is missing", "yellow")
    about = f"{response['command_type']} to {response['aggregate_type']} "
    line = Text(f"{about}{response['aggregate_id']!r} ").append_text(outcome_text(response))
    by = f", sent by {node['policy']}" if node["policy"] else ""
    return line.append(f" {node['command_id']}{by}", "dim")


def outcome_text(response: Fields) -> Text:
    """Return how a command ended."""
    again = " (duplicate)" if response["duplicate"] else ""
    if response["reason"] is None:
        return Text(f"ACCEPTED{again}", "green")
    return Text(f"{response['reason']}{again}", "red").append(
        f": {escape(response['message'])}", "default"
    )


def fields_text(event: Fields) -> str:
    """Return the fields of an event."""
    if event["payload"] is None:
        return "(not shown: the application that was started last does not know its type)"
    fields = ((name, value) for name, value in event["payload"].items() if name != "type")
    return ", ".join(f"{name} {in_json(value)}" for name, value in fields if value is not None)


def fold_repetitions(found: Iterable[Fields]) -> list[tuple[Fields, list[Fields]]]:
    """Return each command once, with the responses to its repetitions."""
    every = list(found)
    first: dict[tuple[object, ...], list[Fields]] = {}
    for one in every:
        if one["response"] and not one["response"]["duplicate"]:
            first.setdefault(_outcome(one["response"]), [])
    shown = list[tuple[Fields, list[Fields]]]()
    for one in every:
        response = one["response"]
        if response is None:
            shown.append((one, []))
        elif not response["duplicate"]:
            shown.append((one, first[_outcome(response)]))
        elif (repeated := first.get(_outcome(response))) is not None:
            repeated.append(response)
        else:  # the first of them belongs to another flow, or its response is lost
            shown.append((one, first.setdefault(_outcome(response), [])))
    return shown


def repetitions_text(repeated: list[Fields]) -> str:
    """Return the positions of a command's repetitions, each with its sender."""
    named = [_position(one) for one in repeated[:SHOWN]]
    if (more := len(repeated) - SHOWN) > 0:
        named.append(f"and {more:,} more")
    return ", ".join(named)


def _position(response: Fields) -> str:
    source = response["source"]
    by = f" by {response['actor']}" if response.get("actor") else ""
    return f"{source['topic']}:{source['partition']}:{source['offset']}{by}"


def _outcome(response: Fields) -> tuple[object, ...]:
    return tuple(response[name] for name in OUTCOME)

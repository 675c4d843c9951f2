"""`verdict history`, `trace` and `explain`: what commands caused, and why they ended so."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from verdict.adapters.sql.readers.reader import Access, Reader, open_reader
from verdict.cli.options import AggregateType, Id, Json, settings_of
from verdict.cli.render import note, pairs, plain, show, show_json, table
from verdict.errors import VerdictError
from verdict.model.message import LARGEST, Fields
from verdict.operations.inspect.aggregate import history as read_history
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
READ = """\
SELECT p.topic, p."partition", p.next_offset FROM projection_position p
JOIN projection_live l ON l.projection = p.projection AND l.version = p.version
WHERE (p.projection = 'event_archive' AND p.topic = :events)
OR (p.projection = 'outcome' AND p.topic = :responses) ORDER BY 1, 2"""

Limit = Annotated[
    int, typer.Option(min=1, max=MOST_ASKED, help="How many commands and events at most.")
]
Role = Annotated[Access, typer.Option("--as", help="How much to see: auditors payloads.")]


@app.command()
def history(aggregate: AggregateType, id: Id, json: Json = False) -> None:
    """Show each command to one aggregate with its outcome and its events, the oldest first.

    Events come from the archive, each checked with its hash, and outcomes from the view `outcome`.
    On stderr are the offsets up to which the two have read Kafka, and what is missing or was
    altered, with exit code 1. With --json there is one object per record of a command: `response`
    (null when it is missing) and `events`. `verdict tail commands` and `verdict tail dead-letters`
    show records without an outcome.
    """
    settings = settings_of()
    with open_reader(settings) as reader:
        topics = (settings.topics.events(aggregate), settings.topics.responses(aggregate))
        read = _read(reader, *topics)
        found = read_history(settings.application, reader, aggregate, id, LARGEST - 1)
    if json:
        for command in found.commands:
            show_json(command)
    elif found.commands:
        rows = (row for command, again in _folded(found.commands) for row in _rows(command, again))
        show(table(("at", "version", "what", ""), rows))
    note(read)
    for one in found.missing:
        note(one)
    if found.missing:
        raise VerdictError(f"the history of {aggregate} {id!r} is not complete")
    if not found.commands:
        raise VerdictError(f"there is no {aggregate} {id!r}: no command to it has an outcome")


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
    for one, again in _folded(found):
        show(*_explanation(one, again))
    if not all(event["checked"] for one in found for event in (*one["winners"], *one["events"])):
        note(FROM_COLUMNS)


def _read(reader: Reader, events: str, responses: str) -> str:
    """Return up to which offsets archive and outcomes have read the topics of an aggregate type."""
    found = reader.select(READ, {"events": events, "responses": responses}).rows
    positions = [f"{topic}:{partition} up to offset {end}" for topic, partition, end in found]
    return f"read so far: {', '.join(positions) or f'nothing of {events} and {responses}'}"


def _rows(command: Fields, again: str) -> Iterator[tuple[Any, ...]]:
    response = command["response"]
    if response is None:
        yield "", "", "?", Text("its outcome is missing", "yellow")
    else:
        at = response["decided_at"].replace("T", " ").removesuffix("Z")
        about = _outcome(response).append(f" {response['command_id']}", "dim")
        yield at, "", response["command_type"], about
    for event in command["events"]:
        yield "", event["version"], f"  {event['event_type']}", _fields(event)
    if again:
        yield "", "", "  sent again", Text(again, "dim")


def _explanation(one: Fields, again: str) -> Iterator[Table | Text]:
    response = one["response"]
    about = f"{response['aggregate_type']} {response['aggregate_id']!r}"
    yield Text(f"{response['command_type']} to {about} ").append_text(_outcome(response))
    if one["doubt"]:
        yield Text(one["doubt"], "yellow")
    names = ("decided_at", "expected_version", "correlation_id", "actor", "rule_code")
    facts = [(name, response[name]) for name in names]
    facts += [("cause", _cause(one["cause"])), ("met_version", one["met_version"])]
    facts += [("instead", one["instead"]), ("sent again", again or None)]
    yield pairs(fact for fact in facts if fact[1] is not None)
    for title, events in (("had not seen", one["winners"]), ("caused", one["events"])):
        if events:
            rows = ([e["version"], e["event_type"], e["command_id"], _fields(e)] for e in events)
            yield table((title, "event", "by command", ""), rows)


def _cause(event: Fields | None) -> str | None:
    if event is None:
        return None
    about = f"{event['event_type']}, version {event['version']} of {event['aggregate_type']}"
    return f"{about} {event['aggregate_id']!r}, by command {event['command_id']}"


def _lines(nodes: Iterable[Fields], indent: str) -> Iterator[Text]:
    for node, again in _folded(nodes):
        yield Text(indent).append_text(_command(node))
        if node["doubt"]:
            yield Text(f"{indent}  {node['doubt']}", "yellow")
        for event in node["events"]:
            line = Text(f"{indent}  {event['version']} {event['event_type']}")
            fields = _fields(event)
            yield line.append(f", {fields}" if fields else "", "dim")
            yield from _lines(event["asked"], f"{indent}    ")
        if again:
            yield Text(f"{indent}  sent again: {again}", "dim")


def _folded(found: Iterable[Fields]) -> Iterator[tuple[Fields, str]]:
    """Yield each command once, with the positions and senders of its repetitions."""
    first: dict[object, tuple[Fields, list[str]]] = {}
    for number, one in enumerate(sorted(found, key=_is_repetition)):
        response = one["response"]
        outcome = response and tuple(response[name] for name in OUTCOME)
        if _is_repetition(one) and outcome in first:
            first[outcome][1].append(_position(response))
        else:  # the first record of a repetition may belong to another flow
            first[number if outcome is None or outcome in first else outcome] = (one, [])
    for one, again in first.values():
        more = [f"and {len(again) - SHOWN:,} more"] if len(again) > SHOWN else []
        yield one, ", ".join([*again[:SHOWN], *more])


def _is_repetition(one: Fields) -> bool:
    return one["response"] is not None and one["response"]["duplicate"]


def _position(response: Fields) -> str:
    source = response["source"]
    by = f" by {response['actor']}" if response.get("actor") else ""
    return f"{source['topic']}:{source['partition']}:{source['offset']}{by}"


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
    line = Text(f"{about}{response['aggregate_id']!r} ").append_text(_outcome(response))
    by = f", sent by {node['policy']}" if node["policy"] else ""
    return line.append(f" {node['command_id']}{by}", "dim")


def _outcome(response: Fields) -> Text:
    again = " (duplicate)" if response["duplicate"] else ""
    if response["reason"] is None:
        return Text(f"ACCEPTED{again}", "green")
    line = Text(f"{response['reason']}{again}", "red")
    return line.append(f": {escape(response['message'])}", "default")


def _fields(event: Fields) -> str:
    if event["payload"] is None:
        return "(not shown: the application that was started last does not know its type)"
    fields = ((name, value) for name, value in event["payload"].items() if name != "type")
    return ", ".join(f"{name} {plain(value)}" for name, value in fields if value is not None)

"""`verdict trace`: a flow as a tree, over aggregates and policies."""

from collections.abc import Iterable, Iterator
from typing import Annotated

import typer
from rich.text import Text

from verdict.adapters.sql.readers.reader import Access, open_reader
from verdict.cli.options import Json, settings_of
from verdict.cli.render import in_json, note, show, show_json
from verdict.cli.repetitions import fold_repetitions, is_repetition
from verdict.errors import VerdictError
from verdict.operations.inspect.flow import flow
from verdict.operations.inspect.history import Fields
from verdict.operations.inspect.queries import MOST
from verdict.wire.terminal import escape

app = typer.Typer(add_completion=False)

FROM_COLUMNS = (
    "fields of events are shown as the columns of the archive have them; --as auditor reads them "
    "from the events' own bytes"
)
MOST_ASKED = 1_000_000  # they are all held at once

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
    """Show a flow as a tree: each command, its events, and what policies asked for because of them.

    Refused commands are among them; one that was sent again is shown once, with the places of its
    repetitions. It tells what the read side has come to; exit code 1 for a flow that it does not
    know. With --json one object per command record that nothing in the flow asked for, the others
    below the events that they follow; `checked` says whether an event's fields were read from its
    bytes, which auditors may see, or from the columns of the archive.
    """
    settings = settings_of()
    with open_reader(settings, role) as reader:
        found, more = flow(settings.application, reader, correlation_id, limit)
    if not found:
        raise VerdictError(f"no command of the flow {correlation_id!r} is known to be answered")
    if json:
        for node in found:
            show_json(node)
    else:
        show(*_lines(found, ""))
        if not _all_checked(found):
            note(FROM_COLUMNS)
    if more:
        note(f"only the first {limit} commands and events of the flow are shown: ask with --limit")


def _lines(nodes: Iterable[Fields], indent: str) -> Iterator[Text]:
    for node, repeated in fold_repetitions(nodes):
        yield Text(indent).append_text(_asked(node))
        if node["doubt"]:
            yield Text(f"{indent}  {node['doubt']}", "yellow")
        for event in node["events"]:
            told = listed(event)
            yield Text(f"{indent}  {event['version']} {event['event_type']}").append(told, "dim")
            yield from _lines(event["asked"], f"{indent}    ")
        if repeated:
            yield Text(f"{indent}  sent again: {is_repetition(repeated)}", "dim")


def _all_checked(nodes: Iterable[Fields]) -> bool:
    return all(
        event["checked"] and _all_checked(event["asked"])
        for node in nodes
        for event in node["events"]
    )


def _asked(node: Fields) -> Text:
    response = node["response"]
    if response is None:
        return Text(f"command {node['command_id']}: its outcome is nowhere", "yellow")
    about = f"{response['command_type']} to {response['aggregate_type']} "
    line = Text(f"{about}{response['aggregate_id']!r} ").append_text(outcome_text(response))
    by = f", asked for by {node['policy']}" if node["policy"] else ""
    return line.append(f" {node['command_id']}{by}", "dim")


def outcome_text(response: Fields) -> Text:
    """Return how a command ended, in words."""
    again = " (duplicate)" if response["duplicate"] else ""
    if response["reason"] is None:
        return Text(f"ACCEPTED{again}", "green")
    return Text(f"{response['reason']}{again}", "red").append(
        f": {escape(response['message'])}", "default"
    )


def listed(event: Fields) -> str:
    """Return the fields of an event in words."""
    if event["payload"] is None:
        return " (not shown: its type is unknown to the application that was started last)"
    told = ((name, value) for name, value in event["payload"].items() if name != "type")
    return "".join(f", {name} {in_json(value)}" for name, value in told if value is not None)

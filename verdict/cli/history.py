"""`verdict history`: the commands to one aggregate, with their outcomes and events."""

from collections.abc import Iterator
from typing import Any

import typer
from rich.text import Text

from verdict.adapters.sql.readers.reader import Reader, open_reader
from verdict.cli.options import AggregateType, Id, Json, settings_of
from verdict.cli.render import add_rows, note, show, show_json, table
from verdict.cli.trace import fields_text, fold_repetitions, outcome_text, repetitions_text
from verdict.errors import VerdictError
from verdict.model.message import LARGEST, Fields
from verdict.operations.inspect.aggregate import history as read_history

app = typer.Typer(add_completion=False)

READ = """\
SELECT p.topic, p."partition", p.next_offset FROM projection_position p
JOIN projection_live l ON l.projection = p.projection AND l.version = p.version
WHERE (p.projection = 'event_archive' AND p.topic = :events)
OR (p.projection = 'outcome' AND p.topic = :responses) ORDER BY 1, 2"""


@app.command()
def history(aggregate: AggregateType, id: Id, json: Json = False) -> None:
    """Show each command to one aggregate with its outcome and its events, the oldest first.

    Events come from the archive, each checked with its hash, and outcomes from the view `outcome`.
    On stderr are the offsets up to which the two have read Kafka, and what is missing or was
    altered, with exit code 1. A command that was sent again is shown once, with the positions of
    its repetitions. With --json there is one object per record of a command: `response` (null when
    it is missing) and `events`. `verdict tail commands` and `verdict tail dead-letters` show
    records without an outcome.
    """
    settings = settings_of()
    with open_reader(settings) as reader:
        read = _read(
            reader, settings.topics.events(aggregate), settings.topics.responses(aggregate)
        )
        found = read_history(settings.application, reader, aggregate, id, LARGEST - 1)
    if json:
        for command in found.commands:
            show_json(command)
    elif found.commands:
        every = fold_repetitions(found.commands)
        rows = (row for command, again in every for row in _rows(command, again))
        show(add_rows(table("at", "version", "what", "", numbers=("version",)), rows))
    note(read)
    for one in found.missing:
        note(one)
    if found.missing:
        raise VerdictError(f"the history of {aggregate} {id!r} is not complete")
    if not found.commands:
        raise VerdictError(f"there is no {aggregate} {id!r}: no command to it has an outcome")


def _read(reader: Reader, events: str, responses: str) -> str:
    """Return up to which offsets archive and outcomes have read the topics of an aggregate type."""
    found = reader.select(READ, {"events": events, "responses": responses}).rows
    positions = [f"{topic}:{partition} up to offset {end}" for topic, partition, end in found]
    return f"read so far: {', '.join(positions) or f'nothing of {events} and {responses}'}"


def _rows(command: Fields, repeated: list[Fields]) -> Iterator[tuple[Any, ...]]:
    response = command["response"]
    if response is None:
        yield "", "", "?", Text("its outcome is missing", "yellow")
    else:
        about = outcome_text(response).append(f" {response['command_id']}", "dim")
        yield _time(response["decided_at"]), "", response["command_type"], about
    for event in command["events"]:
        yield (
            "",
            event["version"],
            f"  {event['event_type']}",
            fields_text(event),
        )
    if repeated:
        yield "", "", "  sent again", Text(repetitions_text(repeated), "dim")


def _time(text: str) -> str:
    return text.replace("T", " ").removesuffix("Z")

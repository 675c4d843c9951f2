"""`verdict explain`: what a command met, which events its sender had not seen, and what to send."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from verdict.adapters.sql.readers.reader import Access, open_reader
from verdict.cli.options import Json, settings_of
from verdict.cli.render import add_rows, note, show, show_json, table
from verdict.cli.trace import (
    FROM_COLUMNS,
    Role,
    fields_text,
    fold_repetitions,
    outcome_text,
    repetitions_text,
)
from verdict.errors import VerdictError
from verdict.operations.inspect.flow import why as explain_command
from verdict.operations.inspect.history import Fields

app = typer.Typer(add_completion=False)


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
        show(*_page(one, repeated))
    if not all(event["checked"] for one in found for event in (*one["winners"], *one["events"])):
        note(FROM_COLUMNS)


def _page(one: Fields, repeated: list[Fields]) -> Iterator[Table | Text]:
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

"""`verdict history`: what was asked of one aggregate, refused or not, and what came of it."""

from collections.abc import Iterator
from typing import Any

import typer
from rich.text import Text

from compose.cli.decoding import Fields, Kind, decoded
from compose.cli.one_aggregate import Aggregate
from compose.cli.options import (
    AggregateType,
    BootstrapServers,
    DataDir,
    Id,
    Json,
    kafka_options,
    settings_of,
)
from compose.cli.output import add_rows, note, show, show_json, table
from compose.kafka.log import KafkaLog

app = typer.Typer(add_completion=False)

PLACE = ("topic", "partition", "offset")


@app.command()
def history(
    aggregate: AggregateType,
    id: Id,
    json: Json = False,
    data_dir: DataDir = None,
    bootstrap_servers: BootstrapServers = None,
) -> None:
    """Show every command to one aggregate in the order of the verdicts, and its events.

    With --json one object per command: `command` (null when Kafka has dropped it), `response`
    (null when it has none yet) and `events`.
    """
    settings = settings_of(data_dir=data_dir, bootstrap_servers=bootstrap_servers)
    with KafkaLog(kafka_options(settings)) as log:
        found = Aggregate(log, settings.topics, aggregate, id)
        note("reading the key's partitions from the beginning")
        chapters = list(_chapters(aggregate, found))
    if json:
        for chapter in chapters:
            show_json(chapter)
        return
    if not chapters:
        note(f"nothing was ever asked of {aggregate} {id!r}")
        return
    rows = (row for chapter in chapters for row in _rows(chapter))
    show(add_rows(table("at", "version", "what", "", numbers=("version",)), rows))


def _chapters(aggregate_type: str, aggregate: Aggregate) -> Iterator[Fields]:
    """Yield one object per command: those that are answered, then the rest."""
    kinds = (Kind.COMMANDS, Kind.RESPONSES, Kind.EVENTS)
    commands, responses, events = (
        [decoded(kind, aggregate_type, message) for message in aggregate.records(kind)]
        for kind in kinds
    )
    by_place = {_place(command): command for command in commands}
    caused: dict[Any, list[Fields]] = {}
    for event in events:
        caused.setdefault(_place(event["source"]), []).append(event)
    for response in responses:
        place = _place(response["source"])
        yield {
            "command": by_place.pop(place, None),
            "response": response,
            "events": caused.get(place, []),
        }
    for command in by_place.values():
        yield {"command": command, "response": None, "events": []}


def _place(record: Fields) -> tuple[Any, ...]:
    return tuple(record[name] for name in PLACE)


def _rows(chapter: Fields) -> Iterator[tuple[Any, ...]]:
    command, response = chapter["command"], chapter["response"]
    asked = (command or {}).get("payload") or {}
    if response is None:
        yield "", "", asked.get("type", "?"), Text("no verdict (yet)", "yellow")
        return
    about = Text()
    if response["status"] == "ACCEPTED":
        about.append("ACCEPTED", "green")
    else:
        about.append(f"REJECTED {response['reason']}", "red")
        about.append(f": {response['message']}")
    if response["duplicate"]:
        about.append(" (duplicate)")
    about.append(f" {response['command_id']}", "dim")
    yield _time(response["decided_at"]), "", response["command_type"], about
    for event in chapter["events"]:
        payload = dict(event["payload"])
        yield "", event["version"], f"  {payload.pop('type')}", _listed(payload)


def _listed(fields: Fields) -> str:
    return ", ".join(f"{name} {value}" for name, value in fields.items() if value is not None)


def _time(text: str) -> str:
    return text.replace("T", " ").removesuffix("Z")

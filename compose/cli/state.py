"""`verdict state`: one aggregate, folded from its events with its own rules."""

from typing import Annotated, Any

import typer
from confluent_kafka import Message

from aggregates.decider import decider_of
from aggregates.snapshot import NEVER_EXISTED, Snapshot
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
from compose.cli.positions import parse_time
from compose.errors import VerdictError
from compose.kafka_log import KafkaLog
from schemas.message import iso_time
from schemas.recorded_event import RecordedEvent
from schemas.wire.readable import readable

app = typer.Typer(add_completion=False)

AtVersion = Annotated[int | None, typer.Option(min=0, help="As of this version.", metavar="N")]
AtTime = Annotated[
    str | None, typer.Option("--at", metavar="TIME", help="As of this time (ISO 8601).")
]


@app.command()
def state(  # noqa: PLR0913  (options)
    aggregate: AggregateType,
    id: Id,
    at_version: AtVersion = None,
    at: AtTime = None,
    json: Json = False,
    data_dir: DataDir = None,
    bootstrap_servers: BootstrapServers = None,
) -> None:
    """Show the state of one aggregate with its version, from its events.

    An aggregate that never existed has the life cycle NONE and the version 0.
    """
    if at_version is not None and at is not None:
        raise typer.BadParameter("give --at-version or --at, not both")
    until = None if at is None else parse_time(at)
    settings = settings_of(data_dir=data_dir, bootstrap_servers=bootstrap_servers)
    with KafkaLog(kafka_options(settings)) as log:
        note("reading the key's partition from the beginning, as there is no archive to ask")
        events = Aggregate(log, settings.topics, aggregate, id).events()
        found = [entry for entry in events if until is None or entry[0].decided_at <= until]
    if at_version is not None:
        if at_version > len(found):
            raise VerdictError(
                f"{aggregate} {id!r} is at version {len(found)}, there is no {at_version} yet"
            )
        found = found[:at_version]
    answer = _answer(aggregate, id, found)
    if json:
        show_json(answer)
    else:
        show(add_rows(table(f"{aggregate} {id}", ""), _flat(answer)))


def _answer(
    aggregate_type: str, key: str, found: list[tuple[RecordedEvent, Message]]
) -> dict[str, Any]:
    snapshot = _fold(aggregate_type, [event for event, _ in found])
    last = found[-1][1] if found else None
    shown = None if snapshot.state is None else readable(snapshot.state)
    if shown is not None:
        del shown["type"]  # of the class that the rules use inside
    return {
        "aggregate_type": aggregate_type,
        "aggregate_id": key,
        "version": snapshot.version,
        "life_cycle": snapshot.life_cycle.value,
        "decided_at": iso_time(snapshot.decided_at) if last else None,
        "position": last
        and {"topic": last.topic(), "partition": last.partition(), "offset": last.offset()},
        "state": shown,
    }


def _fold(aggregate_type: str, events: list[RecordedEvent]) -> Snapshot[Any]:
    decider, snapshot = decider_of(aggregate_type), NEVER_EXISTED
    for event in events:
        if event.version != snapshot.version + 1:
            raise VerdictError(
                f"{aggregate_type} {event.aggregate_id!r} has version {snapshot.version}, then "
                f"{event.version} in Kafka: events between are gone, so no state can be told"
            )
        state = decider.evolve(snapshot.state, event.payload)
        snapshot = Snapshot(event.version, state, b"", event.decided_at)
    return snapshot


def _flat(answer: dict[str, Any]) -> list[tuple[str, Any]]:
    position = answer["position"]
    place = position and f"{position['topic']}:{position['partition']}:{position['offset']}"
    about = [(name, answer[name]) for name in ("version", "life_cycle", "decided_at")]
    return [*about, ("position", place), *(answer["state"] or {}).items()]

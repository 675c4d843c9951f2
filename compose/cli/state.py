"""`verdict state`: one aggregate or all of a type, folded from events with their own rules."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from typing import Annotated, Any

import typer

from aggregates.history import Broken, fold
from aggregates.recording import StoredEvent
from aggregates.snapshot import Snapshot
from compose.cli.every_aggregate import EveryAggregate
from compose.cli.one_aggregate import History
from compose.cli.options import (
    AggregateType,
    BootstrapServers,
    DatabaseUrl,
    DataDir,
    Json,
    settings_of,
)
from compose.cli.output import add_rows, note, show, show_json, table
from compose.cli.positions import parse_time
from compose.configuration.settings import Settings
from compose.errors import VerdictError
from compose.sql.archive import Placed
from schemas.message import iso_time
from schemas.source import Source
from schemas.wire.readable import readable

app = typer.Typer(add_completion=False)

SHOWN = 1_000  # aggregates in a table
KEPT = ("aggregate_id", "version", "life_cycle", "decided_at")

AtVersion = Annotated[int | None, typer.Option(min=0, help="As of this version.", metavar="N")]
AtTime = Annotated[
    str | None, typer.Option("--at", metavar="TIME", help="As of this time (ISO 8601).")
]
IdOrAll = Annotated[
    str | None, typer.Argument(metavar="ID", help="Id of the aggregate.", show_default="all")
]


@app.command()
def state(  # noqa: PLR0913  (options)
    aggregate: AggregateType,
    id: IdOrAll = None,
    at_version: AtVersion = None,
    at: AtTime = None,
    json: Json = False,
    data_dir: DataDir = None,
    bootstrap_servers: BootstrapServers = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Show the state of one aggregate with its version, from its events; or of all, sorted by id.

    They come from the archive as far as it goes, and then from Kafka. One aggregate that never
    existed has the life cycle NONE and the version 0; among all it is not listed, deleted ones are.
    """
    if at_version is not None and (at is not None or id is None):
        alone = "give --at-version or --at, not both" if id else "--at-version needs an ID"
        raise typer.BadParameter(alone)
    until = None if at is None else parse_time(at)
    settings = settings_of(
        data_dir=data_dir, bootstrap_servers=bootstrap_servers, database_url=database_url
    )
    if id is None:
        _show_all(settings, aggregate, until, json)
        return
    with ExitStack() as parts:
        history = History(settings, aggregate, id, parts)
        places, snapshot = _folded(aggregate, id, history, at_version, until)
    if at_version is not None and snapshot.version < at_version:
        raise VerdictError(
            f"{aggregate} {id!r} is at version {snapshot.version}, there is no {at_version} yet"
        )
    answer = _answer(aggregate, id, snapshot, places.get(snapshot.version))
    if json:
        show_json(answer)
    else:
        show(add_rows(table(f"{aggregate} {id}", ""), _flat(answer)))


def _show_all(settings: Settings, aggregate_type: str, until: int | None, json: bool) -> None:
    with ExitStack() as parts:
        answers = _answers(EveryAggregate(settings, aggregate_type, parts), aggregate_type, until)
        if json:
            for answer in answers:
                show_json(answer)
            return
        shown = [*islice(answers, SHOWN + 1)]
    columns = (aggregate_type, "version", "life_cycle", "decided_at", "state")
    rows = ([*map(answer.get, KEPT), _in_words(answer)] for answer in shown[:SHOWN])
    show(add_rows(table(*columns, numbers=("version",)), rows))
    if len(shown) > SHOWN:
        note(f"only the first {SHOWN} are shown: use --json for all")


def _answers(
    every: EveryAggregate, aggregate_type: str, until: int | None
) -> Iterator[dict[str, Any]]:
    """Yield what is told of each aggregate that existed then."""
    for name, history in every.histories(until):
        places, snapshot = _folded(aggregate_type, name, history, None, until)
        if snapshot.version:
            yield _answer(aggregate_type, name, snapshot, places[snapshot.version])


def _folded(
    aggregate_type: str,
    name: str,
    history: Iterable[Placed],
    at_version: int | None,
    until: int | None,
) -> tuple[dict[int, Source], Snapshot[Any]]:
    """Return the place of each version that was read, and what the aggregate was then."""
    places: dict[int, Source] = {}

    def noted() -> Iterator[StoredEvent]:
        for placed in history:
            places.setdefault(placed.stored.event.version, placed.place)
            yield placed.stored

    try:
        return places, fold(noted(), at_version, until)
    except Broken as broken:
        raise VerdictError(f"{aggregate_type} {name!r}: {broken}; no state can be told") from broken


def _answer(
    aggregate_type: str, key: str, snapshot: Snapshot[Any], place: Source | None
) -> dict[str, Any]:
    shown = None if snapshot.state is None else readable(snapshot.state)
    if shown is not None:
        del shown["type"]  # of the class that the rules use inside
    return {
        "aggregate_type": aggregate_type,
        "aggregate_id": key,
        "version": snapshot.version,
        "life_cycle": snapshot.life_cycle.value,
        "decided_at": iso_time(snapshot.decided_at) if place else None,
        "position": place and readable(place),
        "state": shown,
    }


def _in_words(answer: dict[str, Any]) -> str | None:
    fields = answer["state"] or {}
    return ", ".join(f"{name} {value}" for name, value in fields.items()) or None


def _flat(answer: dict[str, Any]) -> list[tuple[str, Any]]:
    position = answer["position"]
    place = position and f"{position['topic']}:{position['partition']}:{position['offset']}"
    about = [(name, answer[name]) for name in ("version", "life_cycle", "decided_at")]
    return [*about, ("position", place), *(answer["state"] or {}).items()]

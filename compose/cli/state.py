"""`verdict state`: one aggregate, folded from its events with its own rules."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Annotated, Any

import typer

from aggregates.history import Broken, fold
from aggregates.snapshot import Snapshot
from compose.archive import Archive, Placed
from compose.cli.one_aggregate import Aggregate
from compose.cli.options import (
    AggregateType,
    BootstrapServers,
    DatabaseUrl,
    DataDir,
    Id,
    Json,
    kafka_options,
    settings_of,
)
from compose.cli.output import add_rows, note, show, show_json, table
from compose.cli.positions import parse_time
from compose.errors import Unreachable, VerdictError
from compose.kafka_log import KafkaLog
from compose.reader import reader_of
from compose.settings import Settings
from schemas.message import iso_time
from schemas.source import Source
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
    database_url: DatabaseUrl = None,
) -> None:
    """Show the state of one aggregate with its version, from its events.

    They come from the archive as far as it goes, and then from Kafka. An aggregate that never
    existed has the life cycle NONE and the version 0.
    """
    if at_version is not None and at is not None:
        raise typer.BadParameter("give --at-version or --at, not both")
    until = None if at is None else parse_time(at)
    settings = settings_of(
        data_dir=data_dir, bootstrap_servers=bootstrap_servers, database_url=database_url
    )
    with ExitStack() as parts:
        history = History(settings, aggregate, id, parts)
        try:
            snapshot = fold((placed.stored for placed in history), at_version, until)
        except Broken as broken:
            raise VerdictError(f"{aggregate} {id!r}: {broken}; no state can be told") from broken
    if at_version is not None and snapshot.version < at_version:
        raise VerdictError(
            f"{aggregate} {id!r} is at version {snapshot.version}, there is no {at_version} yet"
        )
    answer = _answer(aggregate, id, snapshot, history.places.get(snapshot.version))
    if json:
        show_json(answer)
    else:
        show(add_rows(table(f"{aggregate} {id}", ""), _flat(answer)))


class History:
    """An aggregate's events, archived ones first; Kafka is asked only by who wants more.

    Args:
        settings: Where archive and Kafka are.
        aggregate_type: Of the aggregate.
        aggregate_id: Its id.
        parts: Takes what must be closed.
    """

    def __init__(
        self, settings: Settings, aggregate_type: str, aggregate_id: str, parts: ExitStack
    ) -> None:
        self.places: dict[int, Source] = {}
        self._settings = settings
        self._identity = aggregate_type, aggregate_id
        self._parts = parts

    def __iter__(self) -> Iterator[Placed]:
        """Yield the events in order, some perhaps twice, and note the place of each version."""
        for placed in self._events():
            self.places.setdefault(placed.stored.event.version, placed.place)
            yield placed

    def _events(self) -> Iterator[Placed]:
        settings, reached = self._settings, dict[int, int]()
        try:
            archive = Archive(self._parts.enter_context(reader_of(settings)))
        except Unreachable as error:
            note(f"reading the key's partition from the beginning, without an archive: {error}")
        else:
            # asked before the history, which may grow meanwhile: so nothing lies between
            reached = archive.reached(settings.topics.events(self._identity[0]))
            yield from archive.history(*self._identity)
        log = self._parts.enter_context(KafkaLog(kafka_options(settings)))
        yield from Aggregate(log, settings.topics, *self._identity).events(reached)


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


def _flat(answer: dict[str, Any]) -> list[tuple[str, Any]]:
    position = answer["position"]
    place = position and f"{position['topic']}:{position['partition']}:{position['offset']}"
    about = [(name, answer[name]) for name in ("version", "life_cycle", "decided_at")]
    return [*about, ("position", place), *(answer["state"] or {}).items()]

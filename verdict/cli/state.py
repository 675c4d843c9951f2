"""`verdict state`: one aggregate, folded from its events, or all of a type from their view."""

from contextlib import ExitStack
from typing import Annotated, Any

import typer

from verdict.adapters.sql.readers.reader import Access, open_reader
from verdict.adapters.sql.time_text import wall_clock
from verdict.cli.options import AggregateType, IdOrAll, Json, parse_time, settings_of
from verdict.cli.render import note, pairs, show, show_json
from verdict.cli.sql import show_table
from verdict.errors import VerdictError
from verdict.model.command import LifeCycle
from verdict.model.message import Fields, iso_time
from verdict.model.source import Source
from verdict.operations.inspect.aggregate import folded, state_json
from verdict.operations.inspect.queries import values
from verdict.settings.discovery import kafka_options
from verdict.settings.settings import Settings
from verdict.streaming.event_log.event_log import open_event_log
from verdict.streaming.event_log.skip_log import quarantine_in_words, read_skips
from verdict.wire.skip_record import active_quarantines
from verdict.write_side.decide.snapshot import Snapshot

app = typer.Typer(add_completion=False)

KEPT = ("version", "life_cycle", "global_position", "decided_at")
BLOCKED = """\
SELECT held.aggregate_id, held.version_needed, held.error FROM projection_blocked held
JOIN projection_live live
ON live.projection = held.projection AND live.version = held.projection_version
WHERE held.projection = :view ORDER BY 1"""

AtVersion = Annotated[int | None, typer.Option(min=0, help="As of this version.", metavar="N")]
AtTime = Annotated[
    str | None, typer.Option("--at", metavar="TIME", help="As of this time (ISO 8601).")
]


@app.command()
def state(
    aggregate: AggregateType,
    id: IdOrAll = None,
    at_version: AtVersion = None,
    at: AtTime = None,
    json: Json = False,
) -> None:
    """Show the state of one aggregate with its version, from its events; or of all of a type.

    The events of one come from the archive as far as it goes, and then from Kafka. A deleted one
    has its last version; one that never existed ends with exit code 1. All of a type come from the
    view `<aggregate>_state`, sorted by id; blocked ones are named on stderr, with exit code 1. All
    as of a time are written as by `verdict export <aggregate>_state --as-of TIME --to -`.
    """
    if at_version is not None and (at is not None or id is None):
        alone = "give --at-version or --at, not both" if id else "--at-version needs an ID"
        raise typer.BadParameter(alone)
    until = None if at is None else parse_time(at)
    if until is not None and until > (now := wall_clock()):
        raise VerdictError(f"{iso_time(until)} is in the future, it is {iso_time(now)} now")
    settings = settings_of()
    if id is None:
        if at is None:
            _show_all(settings, aggregate, json)
        else:
            from verdict.read_side.as_of.materialiser import Materialiser  # it loads much
            from verdict.read_side.as_of.resolving import parse_as_of

            Materialiser(settings, f"{aggregate}_state").run(parse_as_of(at), "-")
        return
    places, snapshot = _folded(settings, aggregate, id, at_version, until)
    if at_version is not None and snapshot.version < at_version:
        raise VerdictError(
            f"{aggregate} {id!r} is at version {snapshot.version}, there is no {at_version} yet"
        )
    if not places and at_version != 0:
        raise VerdictError(
            f"there is no {aggregate} {id!r}: neither the archive nor Kafka has an event of it; "
            f"`verdict history {aggregate} {id}` shows whether it ever had one"
        )
    answer = state_json(aggregate, id, snapshot, places.get(snapshot.version))
    if json:
        show_json(answer)
    else:
        show(pairs(_facts(answer)))


def _folded(
    settings: Settings, aggregate: str, name: str, version: int | None, until: int | None
) -> tuple[dict[int, Source], Snapshot[Any]]:
    """Return the positions of its events and its snapshot, if no event is missing at the end."""
    about, is_now = f"{aggregate} {name!r}", version is None and until is None
    quarantine = None
    if is_now:
        skips = read_skips(kafka_options(settings), settings.topics)
        quarantine = active_quarantines(skips).get((aggregate, name))
    if quarantine is not None:
        note(quarantine_in_words(quarantine))
    with ExitStack() as parts:
        events = open_event_log(settings, parts, tell=note)
        answered = events.answered(aggregate, name) if is_now else 0  # before the events are read
        rules = settings.application.aggregate(aggregate)
        places, snapshot = folded(rules, about, events.history(aggregate, name), version, until)
    if snapshot.version < answered:
        raise VerdictError(
            f"{about}: an outcome names version {answered}, and events end with version "
            f"{snapshot.version}: the last ones are lost, so its state is unknown; see "
            f"`verdict verify`, or --at-version {snapshot.version} for an earlier state"
        )
    return places, snapshot


def _show_all(settings: Settings, aggregate_type: str, json: bool) -> None:
    """Show what the view `<aggregate>_state` has, and name the aggregates that it blocks.

    Raises:
        VerdictError: There is no such view, or it blocks aggregates.
    """
    from verdict.read_side.projections.documented_view import columns_of  # they load SQLAlchemy
    from verdict.read_side.schema.system_views import views_for

    view = f"{aggregate_type}_state"
    if (described := views_for(settings, Access.AUDITOR).get(view)) is None:
        raise VerdictError(f"{aggregate_type} has no view {view}: ask for one aggregate by its ID")
    with open_reader(settings) as reader:
        blocked = [*reader.select(BLOCKED, {"view": view}).rows]
        found = reader.select(f'SELECT * FROM "{view}" ORDER BY id')
        if json:
            texts = [column.name for column in columns_of(described) if column.type == "json"]
            for row in found.rows:
                fields = values(dict(zip(found.columns, row, strict=True)), texts)
                show_json(_row_json(aggregate_type, fields))
        else:
            show_table(found.columns, found.rows)
    for name, needed, error in blocked:
        note(
            f"{aggregate_type} {name!r} is shown without its events from version {needed} on: "
            f"{error or 'that version is missing'}"
        )
    if blocked:
        raise VerdictError(f"{view} blocks {len(blocked)} aggregates: see `verdict blocked list`")


def _row_json(aggregate_type: str, row: Fields) -> Fields:
    """Return a row of the view in the form of `state_json`."""
    known = {name: row.pop(name) for name in KEPT}
    about = {"aggregate_type": aggregate_type, "aggregate_id": row.pop("id")}
    is_there = known["life_cycle"] == LifeCycle.ACTIVE
    return about | known | {"state": row if is_there else None}


def _facts(answer: Fields) -> list[tuple[str, Any]]:
    position = answer["position"]
    place = position and f"{position['topic']}:{position['partition']}:{position['offset']}"
    names = ("aggregate_type", "aggregate_id", "version", "life_cycle", "decided_at")
    about = [(name, answer[name]) for name in names]
    return [*about, ("position", place), *(answer["state"] or {}).items()]

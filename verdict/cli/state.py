"""`verdict state`: one aggregate or all of a type, folded from events with their own rules."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import Annotated, Any

import typer

from verdict.cli.options import AggregateType, Json, possible_id, settings_of
from verdict.cli.output import add_rows, note, show, show_json, table
from verdict.cli.positions import parse_time
from verdict.configuration.found import kafka_options
from verdict.configuration.settings import Settings
from verdict.database.time_text import wall_clock
from verdict.decision.shown import state_shown
from verdict.decision.snapshot import Snapshot
from verdict.errors import VerdictError
from verdict.event_log.decided import quarantine_in_words
from verdict.event_log.decisions import read_decisions
from verdict.event_log.event_log import EventLog
from verdict.event_log.folding import Moment, folded
from verdict.event_log.opened import event_log
from verdict.model.message import iso_time
from verdict.model.source import Source
from verdict.wire.decision import Decision, active_quarantines

app = typer.Typer(add_completion=False)

SHOWN = 1_000  # aggregates in a table
KEPT = ("aggregate_id", "version", "life_cycle", "decided_at")

AtVersion = Annotated[int | None, typer.Option(min=0, help="As of this version.", metavar="N")]
AtTime = Annotated[
    str | None, typer.Option("--at", metavar="TIME", help="As of this time (ISO 8601).")
]
IdOrAll = Annotated[
    str | None,
    typer.Argument(
        metavar="ID", callback=possible_id, help="Id of the aggregate.", show_default="all"
    ),
]


@app.command()
def state(
    aggregate: AggregateType,
    id: IdOrAll = None,
    at_version: AtVersion = None,
    at: AtTime = None,
    json: Json = False,
) -> None:
    """Show the state of one aggregate with its version, from its events; or of all, sorted by id.

    They come from the archive as far as it goes, and then from Kafka. A deleted one has its last
    version; exit code 1 for one that never existed. Of all, those whose events do not hold together
    are named on stderr, the others are told, and the exit code is 1.
    """
    if at_version is not None and (at is not None or id is None):
        alone = "give --at-version or --at, not both" if id else "--at-version needs an ID"
        raise typer.BadParameter(alone)
    until = None if at is None else _passed(at)
    settings = settings_of()
    if id is None:
        _show_all(settings, aggregate, until, json)
        return
    places, snapshot = _folded(settings, aggregate, id, Moment(at_version, until))
    if at_version is not None and snapshot.version < at_version:
        raise VerdictError(
            f"{aggregate} {id!r} is at version {snapshot.version}, there is no {at_version} yet"
        )
    if not places and at_version != 0:
        raise VerdictError(
            f"there is no {aggregate} {id!r}: neither the archive nor Kafka has an event of it; "
            f"`verdict history {aggregate} {id}` tells whether it ever had one"
        )
    answer = state_shown(aggregate, id, snapshot, places.get(snapshot.version))
    if json:
        show_json(answer)
    else:
        show(add_rows(table(f"{aggregate} {id}", ""), _flat(answer)))


def _passed(at: str) -> int:
    until, now = parse_time(at), wall_clock()
    if until > now:
        raise VerdictError(f"{iso_time(until)} lies ahead, it is {iso_time(now)} now")
    return until


def _folded(
    settings: Settings, aggregate: str, name: str, moment: Moment
) -> tuple[dict[int, Source], Snapshot[Any]]:
    """Return what `folded` does, if events go as far as outcomes tell."""
    about, is_now = f"{aggregate} {name!r}", moment == Moment()
    quarantine = active_quarantines(_decisions(settings)).get((aggregate, name)) if is_now else None
    if quarantine is not None:
        note(quarantine_in_words(quarantine))
    with ExitStack() as parts:
        events = event_log(settings, parts, tell=note)
        answered = events.answered(aggregate, name) if is_now else 0  # before what it tells of
        rules = settings.application.aggregate(aggregate)
        places, snapshot = folded(rules, about, events.history(aggregate, name), moment)
    if snapshot.version < answered:
        raise VerdictError(
            f"{about}: an outcome tells of version {answered}, and events end with version "
            f"{snapshot.version}: the last ones are lost, so what it is now nobody can tell; see "
            f"`verdict verify`, or --at-version {snapshot.version} for what it was"
        )
    return places, snapshot


def _show_all(settings: Settings, aggregate_type: str, until: int | None, json: bool) -> None:
    broken: list[str] = []
    with ExitStack() as parts:
        events = event_log(settings, parts, tell=note)
        answers = _answers(settings, events, aggregate_type, until, broken)
        if json:
            for answer in answers:
                show_json(answer)
        else:
            _show_table(aggregate_type, answers)
    if broken:
        raise VerdictError(f"of {len(broken)} {aggregate_type} aggregates no state can be told")


def _show_table(aggregate_type: str, answers: Iterator[dict[str, Any]]) -> None:
    shown = [*islice(answers, SHOWN)]
    columns = (aggregate_type, "version", "life_cycle", "decided_at", "state")
    rows = ([*map(answer.get, KEPT), _in_words(answer)] for answer in shown)
    show(add_rows(table(*columns, numbers=("version",)), rows))
    if sum(1 for _ in answers):  # to the end, as one of them may not hold together
        note(f"only the first {SHOWN} are shown: use --json for all")


def _answers(
    settings: Settings,
    events: EventLog,
    aggregate_type: str,
    until: int | None,
    broken: list[str],
) -> Iterator[dict[str, Any]]:
    """Yield what is told of each aggregate that existed then; name those of which nothing can."""
    moment = Moment(until=until)
    quarantines = active_quarantines(_decisions(settings))
    rules = settings.application.aggregate(aggregate_type)
    for name, history in events.every(aggregate_type):
        if (quarantine := quarantines.get((aggregate_type, name))) is not None:
            note(quarantine_in_words(quarantine))
        try:
            places, snapshot = folded(rules, f"{aggregate_type} {name!r}", history, moment)
        except VerdictError as error:
            note(str(error))
            broken.append(name)
            continue
        if snapshot.version:
            yield state_shown(aggregate_type, name, snapshot, places.get(snapshot.version))


def _decisions(settings: Settings) -> Sequence[Decision]:
    return read_decisions(kafka_options(settings), settings.topics)


def _in_words(answer: dict[str, Any]) -> str | None:
    fields = answer["state"] or {}
    return ", ".join(f"{name} {value}" for name, value in fields.items()) or None


def _flat(answer: dict[str, Any]) -> list[tuple[str, Any]]:
    position = answer["position"]
    place = position and f"{position['topic']}:{position['partition']}:{position['offset']}"
    about = [(name, answer[name]) for name in ("version", "life_cycle", "decided_at")]
    return [*about, ("position", place), *(answer["state"] or {}).items()]

"""`verdict status`: what runs, how far behind it is, and what is stopped."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import Annotated, NoReturn

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from verdict.cli.options import Json, settings_of
from verdict.cli.render import attribute_table, fit_to_width, show, show_json, table
from verdict.errors import UnreachableError, VerdictError
from verdict.operations.status.collect import get_status
from verdict.operations.status.database_timeout import DatabaseTimeout
from verdict.operations.status.problems import NOTHING_RUNS
from verdict.operations.status.status import (
    CommandsStatus,
    DeciderStatus,
    Problem,
    ProjectionStatus,
    StatusReport,
    as_json,
)
from verdict.settings.discovery import AnnouncedService, Latency
from verdict.settings.settings import Settings

app = typer.Typer(add_completion=False)

WATCH_S = 2
REJECTIONS = ("policy", "reason", "rule_code", "rejected", "unexpected")


@app.command()
def status(
    watch: Annotated[bool, typer.Option("--watch", help="Repeat until Ctrl-C.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only show what is wrong; exit code 1 if anything is.")
    ] = False,
    json: Json = False,
) -> None:
    """Show what needs attention, what runs, and how far behind each component is.

    Lag is counted in offsets, of which a transaction takes one more than it has records; only
    partitions with a lag are shown. Exit code 5 when Kafka or the database does not answer, 1 when
    there is no such deployment. With --check, which is for cron and monitoring, the exit code is
    also 1 when anything needs attention, or no service runs.
    """
    if watch + json + check > 1:
        raise typer.BadParameter(
            "--watch repeats, --json is for programs, --check shows what is wrong: give one of them"
        )
    settings = settings_of()
    if watch:
        _watch(settings)
    found = get_status(settings)
    is_there = _is_there(found, settings.deployment)
    if not (is_there or found.processes or found.starting):
        nothing = f"Kafka has nothing of a deployment {settings.deployment!r}"
        others = (one for one in found.problems if not one.startswith(NOTHING_RUNS))
        found = replace(found, problems=(Problem(f"{nothing}: start `verdict up`"), *others))
    if json:
        show_json(as_json(found))
    elif check:
        show(*found.problems)
    else:
        show(*_page(found))
    if found.unreachable:
        raise typer.Exit(UnreachableError.exit_code)
    if not is_there or (check and found.problems):
        raise typer.Exit(VerdictError.exit_code)


def _is_there(found: StatusReport, deployment: str) -> bool:
    """Return whether the deployment exists, or may exist."""
    if any(one.deployment not in (None, deployment) for one in found.processes):
        return False
    return bool(found.processes or found.starting or found.decider or found.unreachable)


def _watch(settings: Settings) -> NoReturn:
    console, timeout = Console(), DatabaseTimeout()
    with Live(console=console, screen=False, auto_refresh=False) as live:
        while True:
            found = get_status(settings, timeout)
            page = (fit_to_width(console, part) for part in _page(found))
            live.update(Group(*page), refresh=True)
            time.sleep(WATCH_S)


def _page(found: StatusReport) -> Iterator[Table | Text]:
    yield from (Text(f"! {one}", "red") for one in found.problems)
    if not found.problems:
        yield Text("nothing needs attention", "green")
    yield Text()
    if found.starting:
        yield Text("service  ").append("starting", "yellow").append(f"  pid {found.starting}")
    else:
        yield from map(_service, found.processes or [found.service])
    if found.decider and found.commands:
        yield Text(_about(found.decider))
        if found.service and found.service.latency:
            yield Text(f"outcomes {_within(found.service.latency)}")
        yield from (Text(), _commands(found.commands), Text())
    if found.processors:
        yield from (attribute_table(("processor", "generation", "lag"), found.processors), Text())
    if found.projections:
        yield from (_projections(found.projections), Text())
    if letters := found.dead_letters:
        counted = f"{letters.waiting} waiting, {letters.parked} parked, lag {letters.lag}"
        yield Text(f"dead letters  {counted}")
    if found.verified:
        yield Text(f"verified {found.verified}")
    if found.policy_rejections:
        yield from (Text(), attribute_table(REJECTIONS, found.policy_rejections))


def _service(service: AnnouncedService | None) -> Text:
    if service is None:
        return Text("service  down", "red")
    page = f", page {service.page_url}" if service.page_url else ""
    name = " ".join(service.roles) if len(service.roles) == 1 else "service"
    about = Text(f"{name}  ").append("up", "green")
    return about.append(f"  pid {service.pid}, Kafka {service.bootstrap_servers}{page}")


def _within(latency: Latency) -> str:
    return (
        f"{latency.commands:,} in the last 60 s: half within {latency.p50_ms / 1000:.2f} s, 99 of "
        f"100 within {latency.p99_ms / 1000:.2f} s, all within {latency.most_ms / 1000:.2f} s"
    )


def _about(decider: DeciderStatus) -> str:
    return (
        f"decider  generation {decider.generation}, batch {decider.batch_id}, "
        f"{decider.shards} shards\n"
        f"         rules {decider.handler_version}\n"
        f"         owner {decider.owner}"
    )


def _commands(commands: Sequence[CommandsStatus]) -> Table:
    """Return a row for each topic, and one for each of its partitions that has a lag."""
    columns, rows = ("decided", "end", "lag"), list[Sequence[object]]()
    for topic, partitions in groupby(commands, key=attrgetter("topic")):
        each = [*partitions]
        rows.append((topic, *(sum(getattr(one, of) for one in each) for of in columns)))
        waiting = (one for one in each if one.lag)
        rows += ((f"  partition {one.partition}", one.decided, one.end, one.lag) for one in waiting)
    return table(("commands topic", *columns), rows)


def _projections(projections: Sequence[ProjectionStatus]) -> Table:
    live = (one for one in projections if one.state == "live")
    rows = ([one.projection, one.version, one.lag, len(one.held), _state(one)] for one in live)
    return table(("projection", "version", "lag", "blocked", "state"), rows)


def _state(projection: ProjectionStatus) -> Text:
    if projection.stopped_by:
        return Text("stopped", "red")
    return Text("blocks", "yellow") if projection.held else Text("runs", "green")

"""`verdict projection`: rebuild a projection, compare the versions, promote or roll back."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from verdict.cli.options import Json, settings_of
from verdict.cli.render import attribute_table, note, show, show_json, show_progress, table
from verdict.errors import VerdictError
from verdict.model.message import Fields
from verdict.operations.status.read_side_status import projection_statuses
from verdict.operations.status.status import ProjectionStatus, as_json
from verdict.read_side.catalog import UnknownProjectionError
from verdict.read_side.rebuild.promotion import ComparedVersions
from verdict.read_side.rebuild.rebuilder import Rebuilder
from verdict.read_side.rebuild.version_pair import VersionPair

app = typer.Typer(add_completion=False)

Name = Annotated[str, typer.Argument(help="Of the projection, such as us_holder.")]
Accept = Annotated[
    bool, typer.Option("--accept-differences", help="Do not compare the two versions.")
]


@app.callback()
def projection() -> None:
    """List projections; rebuild one next to the live version, compare the two, promote it."""


@app.command("list")
def list_projections(json: Json = False) -> None:
    """List every version of every projection: its state, and how far behind it is."""
    found = projection_statuses(settings_of())
    if json:
        for one in found:
            show_json(as_json(one))
        return
    rows = (
        [one.projection, one.version, one.state, one.lag, len(one.held), one.stopped_by]
        for one in found
    )
    show(table(("projection", "version", "state", "lag", "blocked", "stopped"), rows))


@app.command()
def status(name: Name, json: Json = False) -> None:
    """Show each version of one: its positions, blocked aggregates, and why it is stopped."""
    every = projection_statuses(settings_of())
    found = [one for one in every if one.projection == name]
    if not found:
        raise UnknownProjectionError(name, sorted({one.projection for one in every}))
    for one in found:
        if json:
            show_json(as_json(one))
        else:
            _show_status(one)


def _show_status(found: ProjectionStatus) -> None:
    show(f"{found.projection} v{found.version}, {found.state}, lag {found.lag}")
    if found.stopped_by:
        show(Text(f"! {found.stopped_by}", "red"))
    show(attribute_table(("topic", "partition", "next_offset", "lag"), found.positions))
    if found.held:
        columns = ("aggregate_type", "aggregate_id", "version_needed", "error")
        show(f"\n{len(found.held)} blocked", attribute_table(columns, found.held))


@app.command()
def rebuild(name: Name) -> None:
    """Build the next version from the start of the log, with the same functions.

    Events that Kafka has dropped come from the archive. Readers see the live version meanwhile, and
    the service continues. After an interruption the build starts again. Next: `verdict projection
    verify`, then `verdict projection promote`.
    """
    with _rebuilder(name) as rebuilder:
        made = rebuilder.rebuild()
    note(
        f"{name} v{made.other.version} is built next to v{made.live.version}: `verdict projection "
        f"verify {name}` compares them, `verdict projection promote {name}` shows it to readers"
    )


@app.command()
def verify(name: Name, json: Json = False) -> None:
    """Compare the live version and the new one at one position; exit code 1 if a row differs."""
    with _rebuilder(name) as rebuilder:
        verified = rebuilder.verify()
    if json:
        show_json({"equal": verified.equal} | _facts(verified))
    else:
        _show(verified)
    if not verified.equal:
        raise typer.Exit(VerdictError.exit_code)


@app.command()
def promote(name: Name, accept_differences: Accept = False) -> None:
    """Compare the new version with the live one, then show it to readers, in one transaction.

    The former version is kept for `verdict projection rollback`; an older one is dropped. With
    --accept-differences the versions are not compared.
    """
    with _rebuilder(name) as rebuilder:
        _show_live(rebuilder.promote(accept_differences), "now")


@app.command()
def rollback(name: Name) -> None:
    """Bring the former version up to date, and show it to readers again.

    Only one is kept, so a second rollback is refused; `promote` shows the later version again.
    """
    with _rebuilder(name) as rebuilder:
        _show_live(rebuilder.rollback(), "again")


def _show_live(pair: VersionPair, how: str) -> None:
    live, other = pair.live, pair.other
    note(f"readers see {live.name} v{other.version} {how}; v{live.version} is kept")


@contextmanager
def _rebuilder(name: str) -> Iterator[Rebuilder]:
    settings = settings_of()
    with show_progress(f"projection {name}") as report:
        yield Rebuilder(settings, name, report)


def _facts(verified: ComparedVersions) -> Fields:
    facts = asdict(verified)
    for found, compared in zip(facts["tables"], verified.tables, strict=True):
        found["live"] = compared.live._asdict()
        found["built"] = compared.built._asdict()
        found["differing"] = [row._asdict() for row in compared.differing]
    return facts


def _show(verified: ComparedVersions) -> None:
    rows = list[tuple[object, ...]]()
    for compared in verified.tables:
        about = Text("same", "green") if compared.equal else Text("differs", "red")
        rows.append((compared.live_table, *compared.live, ""))
        rows.append((compared.built_table, *compared.built, about))
    show(table(("table", "rows", "checksum", ""), rows))
    for compared in verified.tables:
        for row in compared.differing:
            note(
                f"{compared.built_table} {', '.join(map(str, row.key))}: "
                f"live {row.live or 'nothing'}, built {row.built or 'nothing'}"
            )
    same = "hold the same" if verified.equal else "differ"
    note(f"{verified.projection} v{verified.live} (live) and v{verified.built} {same}")

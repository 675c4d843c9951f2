"""`verdict verify`: the audit, for people and for cron."""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from verdict.adapters.sql.time_text import wall_clock
from verdict.cli.options import Json, known_aggregate, possible_id, settings_of
from verdict.cli.progress import show_progress
from verdict.cli.render import note, show, show_json
from verdict.errors import UnreachableError, VerdictError
from verdict.operations.audit.auditor import Auditor
from verdict.operations.audit.finding import Check, CheckResult
from verdict.operations.audit.record import FIRST, NotRecordedError, record, run_of
from verdict.read_side.tables.verification import Verification
from verdict.settings.settings import Settings

app = typer.Typer()

SHOWN = 1_000  # findings for people
# what is counted only where there is something of an aggregate
OF_ONE = ("aggregates", "events", "archived events", "responses", "outcomes from SQL", "commands",
          "rejections", "dead letters", "states")  # fmt: skip

TypeOrAll = Annotated[
    str | None,
    typer.Argument(
        metavar="AGGREGATE", callback=known_aggregate, help="Type.", show_default="all types"
    ),
]
IdOrAll = Annotated[
    str | None,
    typer.Argument(
        metavar="ID", callback=possible_id, help="Of one aggregate.", show_default="all"
    ),
]


@app.command()
def verify(aggregate: TypeOrAll = None, id: IdOrAll = None, json: Json = False) -> None:
    """See whether events, outcomes, archive, state and read models still hold together.

    Of everything that was decided when it begins, while the service goes on or not: versions
    without a gap, the chain of hashes and the last hash, one outcome per command, the archive as
    Kafka has it, the operator's state as the fold of the events (where a copy of it lies), and each
    read model as its fold, with the views and feeds that readers see. Exit code 0 when all that is
    looked at is as it must be, 1 when something is not, or could not be looked at, because its
    records are lost say, or there is no such aggregate; with --json an object per finding, and at
    the end one with what was looked at, what could not be (`unavailable`), and what was not
    (`not_checked`): what people decided to pass over, what lies elsewhere, and what no log tells.
    The run is recorded: view `verification`, `verdict status` and the page show when it was and
    what it found.
    """
    settings, started_at = settings_of(), wall_clock()
    first: list[dict[str, Any]] = []
    with show_progress("verify") as tell:
        auditor = Auditor(settings, aggregate, id, tell)
        found = _told(auditor, json, first)
    is_known = id is None or found or any(auditor.looked.at[one] for one in OF_ONE)
    if is_known:
        run = run_of(started_at, (aggregate, id), auditor.looked, found.total(), first)
        _record(settings, run)
    if json:
        show_json(summary(auditor.looked, found.total()))
    for line in unavailable_checks(auditor.looked):
        note(line)
    if not is_known:
        raise VerdictError(f"there is no {aggregate} {id!r}: nothing that is known is of it")
    note(exit_code_of(auditor.looked, found))


def _told(auditor: Auditor, json: bool, first: list[dict[str, Any]]) -> Counter[Check]:
    """Print the findings as they come, keep the first, and return how many there are of each."""
    found = Counter[Check]()
    for count, finding in enumerate(auditor.findings(), 1):
        found[finding.check] += 1
        if count <= FIRST:
            first.append(finding.facts())
        if json:
            show_json(finding.facts())
        elif count <= SHOWN:
            show(str(finding))
    if found.total() > SHOWN and not json:
        note(f"and {found.total() - SHOWN:,} more: --json shows all")
    return found


def _record(settings: Settings, run: Verification) -> None:
    """Write the run down for auditors; whoever may only read gets what it found all the same."""
    try:
        record(settings, run)
    except (NotRecordedError, UnreachableError) as error:
        note(str(error))


def summary(looked: CheckResult, findings: int) -> dict[str, Any]:
    """Return for programs what became of an audit with so many findings."""
    return {
        "clean": not findings and not looked.unavailable,
        "findings": findings,
        "looked_at": looked.at,
        "unavailable": looked.unavailable,
        "not_checked": looked.not_checked,
    }


def unavailable_checks(looked: CheckResult) -> Iterator[str]:
    """Yield for people what was looked at, and each thing that was not."""
    yield "looked at " + ", ".join(f"{count:,} {name}" for name, count in looked.at.items())
    for one in looked.unavailable:
        yield f"could not be looked at: {one}"
    for one in looked.not_checked:
        yield f"not looked at: {one}"


def exit_code_of(looked: CheckResult, found: Counter[Check]) -> str:
    """Return what to say of an audit that is clean.

    Raises:
        VerdictError: It is not: it found something, or could not look at something.
    """
    if found:
        advice = "see what each says"
        if found[Check.STATE]:
            advice += (
                "; `verdict recover` makes the state of the rules again, as a start does where the "
                "aggregate's `snapshot_format` is raised: do that with each change of `evolve`"
            )
        if found[Check.PROJECTIONS]:
            advice += "; `verdict projection rebuild NAME` makes a read model of the log again"
        raise VerdictError(f"{found.total():,} findings: {advice}")
    if looked.unavailable:
        raise VerdictError(
            "all that was looked at is as it was written, and "
            f"{len(looked.unavailable):,} could not be looked at: see what each says"
        )
    return "all that was looked at is as it was written"

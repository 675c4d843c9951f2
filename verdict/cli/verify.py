"""`verdict verify`: the audit of log, archive, state and projections."""

from collections import Counter
from collections.abc import Iterator

import typer

from verdict.adapters.sql.time_text import wall_clock
from verdict.cli.options import AggregateTypeOrAll, IdOrAll, Json, settings_of
from verdict.cli.render import note, show, show_json, show_progress
from verdict.errors import UnreachableError, VerdictError
from verdict.model.message import Fields
from verdict.operations.audit.auditor import Auditor
from verdict.operations.audit.finding import (
    FIRST,
    Check,
    CheckResult,
    NotRecordedError,
    record,
    run_of,
)

app = typer.Typer()

SHOWN = 1_000  # findings, without --json
# each is counted only if the aggregate exists
OF_ONE = ("aggregates", "events", "archived events", "responses", "outcomes from SQL", "commands",
          "rejections", "dead letters", "states")  # fmt: skip


@app.command()
def verify(aggregate: AggregateTypeOrAll = None, id: IdOrAll = None, json: Json = False) -> None:
    """Check that events, outcomes, archive, state and projections agree.

    It checks what was decided before it started; the service may run meanwhile: versions without a
    gap, the chain of hashes and the last hash, one outcome per command, the archive against Kafka,
    the decider's state against the events (where a copy of it is on this machine), and each
    projection against the log, with its feed. Exit code 0 when all of it agrees; 1 when
    something does not, when something could not be checked, as its records are lost, or when there
    is no such aggregate. With --json it prints an object per finding, and at the end one with what
    was checked, what could not be (`unavailable`), and what was left out (`not_checked`): skips of
    operators, what is on other machines, and what no log has. The run is recorded: the view
    `verification`, `verdict status` and the page show its time and its result.
    """
    settings, started_at = settings_of(), wall_clock()
    first: list[Fields] = []
    with show_progress("verify") as report:
        auditor = Auditor(settings, aggregate, id, report)
        found = _show_findings(auditor, json, first)
    for line in unavailable_checks(auditor.looked):
        note(line)
    if id is not None and not found and not any(auditor.looked.at[one] for one in OF_ONE):
        raise VerdictError(f"there is no {aggregate} {id!r}: no record names it")
    run = run_of(started_at, (aggregate, id), auditor.looked, found.total(), first)
    try:
        record(settings, run)
    except (NotRecordedError, UnreachableError) as error:  # a login may only read
        note(str(error))
    if json:
        show_json(summary(auditor.looked, found.total()))
    note(exit_code_of(auditor.looked, found))


def _show_findings(auditor: Auditor, json: bool, first: list[Fields]) -> Counter[Check]:
    """Print the findings as they come, collect the first, and return how many there are of each."""
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


def summary(looked: CheckResult, findings: int) -> dict[str, object]:
    """Return the result of an audit as JSON."""
    return {
        "clean": not findings and not looked.unavailable,
        "findings": findings,
        "looked_at": looked.at,
        "unavailable": looked.unavailable,
        "not_checked": looked.not_checked,
    }


def unavailable_checks(looked: CheckResult) -> Iterator[str]:
    """Yield what was checked, and each thing that was not."""
    yield "checked " + ", ".join(f"{count:,} {name}" for name, count in looked.at.items())
    for one in looked.unavailable:
        yield f"could not be checked: {one}"
    for one in looked.not_checked:
        yield f"not checked: {one}"


def exit_code_of(looked: CheckResult, found: Counter[Check]) -> str:
    """Return the last line about an audit that is clean.

    Raises:
        VerdictError: It found something, or could not check something.
    """
    if found:
        advice = "see each of them"
        if found[Check.STATE]:
            advice += (
                "; `verdict recover` builds the state again, and so does a start after the "
                "aggregate's `snapshot_format` was raised: raise it with each change of `evolve`"
            )
        if found[Check.PROJECTIONS]:
            advice += "; `verdict projection rebuild NAME` builds a projection again from the log"
        raise VerdictError(f"{found.total():,} findings: {advice}")
    if looked.unavailable:
        raise VerdictError(
            "all that was checked is as it was written, and "
            f"{len(looked.unavailable):,} things could not be checked: see each of them"
        )
    return "all that was checked is as it was written"

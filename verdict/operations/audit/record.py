"""Writes down what an audit found, where auditors and the page find it."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy.exc import DBAPIError

from verdict.adapters.sql.sqlite_file import one_line_error
from verdict.adapters.sql.time_text import wall_clock
from verdict.errors import VerdictError
from verdict.operations.audit.finding import CheckResult
from verdict.read_side.schema.database import failing_in_words, opened
from verdict.read_side.tables import verification
from verdict.read_side.tables.verification import Verification
from verdict.settings.discovery import database_url
from verdict.settings.settings import Settings

FIRST = 100  # findings that are kept with a run


class NotRecordedError(VerdictError):
    """The database does not take the record of a run of `verdict verify`."""


def record(settings: Settings, run: Verification) -> None:
    """Write a run down in the read side's database.

    Raises:
        NotRecordedError: The table is not there yet, or this login may not write it.
        UnreachableError: The database went away.
    """
    try:
        with (
            opened(database_url(settings)) as engine,
            failing_in_words(engine),
            engine.begin() as connection,
        ):
            if not verification.exists(connection):
                raise NotRecordedError(
                    "this run is not recorded: the next start of `verdict up` makes the table for "
                    "it; start it, and verify again"
                )
            verification.record(connection, run)
    except DBAPIError as error:
        raise NotRecordedError(
            f"this run is not recorded ({one_line_error(error.orig)}): run `verdict verify` "
            "with the login of `verdict up`, which may write"
        ) from error


def run_of(
    started_at: int,
    of: tuple[str | None, str | None],
    looked: CheckResult,
    findings: int,
    first: Sequence[dict[str, Any]],
) -> Verification:
    """Return what is recorded of a run that ends now."""
    return Verification(
        started_at,
        wall_clock(),
        *of,
        clean=not findings and not looked.unavailable,
        findings=findings,
        looked_at=looked.at,
        unavailable=looked.unavailable,
        not_checked=looked.not_checked,
        first_findings=first,
    )

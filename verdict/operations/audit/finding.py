"""What an audit finds, and the record of a run in the database."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from sqlalchemy.exc import DBAPIError

from verdict.adapters.sql.sqlite_file import one_line_error
from verdict.adapters.sql.time_text import wall_clock
from verdict.errors import VerdictError
from verdict.model.source import Source
from verdict.read_side.schema.database import failing_in_words, opened
from verdict.read_side.tables import verification
from verdict.read_side.tables.verification import Verification
from verdict.settings.discovery import database_url
from verdict.settings.settings import Settings

FIRST = 100  # findings that are kept with a run


class Check(StrEnum):
    """What is looked at."""

    VERSIONS = "versions"
    CHAIN = "chain"
    LAST_HASH = "last hash"
    OUTCOMES = "outcomes"
    ARCHIVE = "archive"
    STATE = "state"
    PROJECTIONS = "projections"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it was written; `place` is the record's in Kafka, if it has one."""

    check: Check
    what: str
    aggregate_type: str | None = None
    aggregate_id: str | None = None
    version: int | None = None
    place: Source | None = None

    def facts(self) -> dict[str, object]:
        """Return it as an object for JSON."""
        return {
            "check": self.check.value,
            "aggregate_type": self.aggregate_type,
            "aggregate_id": self.aggregate_id,
            "version": self.version,
            "place": None if self.place is None else str(self.place),
            "what": self.what,
        }

    def __str__(self) -> str:
        about = [f"{self.check}:"]
        if self.aggregate_id is not None:
            about.append(f"{self.aggregate_type or 'aggregate'} {self.aggregate_id!r}")
        if self.version is not None:
            about.append(f"version {self.version}")
        if self.place is not None:
            about.append(f"at {self.place}")
        return f"{' '.join(about)}: {self.what}".replace("::", ":")


@dataclass(slots=True)
class CheckResult:
    """What an audit has looked at so far, by name, and what it has not looked at.

    `unavailable` should be there and is not, so its correctness is unknown. `not_checked` is
    what operators skipped, what is elsewhere, and what no log tells.
    """

    at: Counter[str] = field(default_factory=Counter)
    unavailable: list[str] = field(default_factory=list)
    not_checked: list[str] = field(default_factory=list)


class NotRecordedError(VerdictError):
    """The database does not take the record of a run of `verdict verify`."""


def record(settings: Settings, run: Verification) -> None:
    """Write a run into the database; raise NotRecordedError if it cannot take it."""
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
    first: Sequence[dict[str, object]],
) -> Verification:
    """Return the record of a run that ends now."""
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

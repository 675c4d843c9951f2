"""A run of `verdict verify` is written down where auditors find it, on either database."""

import json
import sqlite3
from pathlib import Path

import pytest

from tests.application import APPLICATION
from tests.conftest import NewDatabase
from tests.kit.databases import ReadSide
from verdict.adapters.sql.readers.reader import Access, Reader, open_reader
from verdict.adapters.sql.time_text import wall_clock
from verdict.operations.audit.finding import (
    Check,
    CheckResult,
    Finding,
    NotRecordedError,
    record,
    run_of,
)
from verdict.operations.status.read_side_status import ReadSideViews
from verdict.operations.status.status import StatusReport, VerificationStatus
from verdict.read_side.tables.verification import Verification
from verdict.settings.load import settings_alone
from verdict.settings.settings import Settings

FINDING = Finding(check=Check.PROJECTIONS, what="cashier is 'ada', by the log 'bob'").facts()
NOTHING_KNOWN = StatusReport(None, Path("/data"))
QUERY = "SELECT seq, aggregate_type, clean, findings, looked_at, first_findings FROM verification"


def read_side(url: str) -> str:
    """Make a read side; return its URL."""
    ReadSide(url).engine.dispose()
    return url


def run(**found: int) -> Verification:
    looked = CheckResult()
    looked.at["events"] = 5
    first = [FINDING] * found.get("findings", 0)
    return run_of(wall_clock(), ("order", None), looked, len(first), first)


@pytest.mark.both_databases
def test_auditors_see_what_was_found_and_readers_nothing_personal(
    new_database: NewDatabase,
) -> None:
    settings = settings_alone(APPLICATION, database_url=read_side(new_database()))
    with open_reader(settings, Access.SUPPORT) as reader:
        assert verified(reader) is None
    record(settings, run())
    record(settings, run(findings=1))

    auditors, readers = rows(settings, Access.AUDITOR), rows(settings, Access.READER)
    assert [one[:4] for one in auditors] == [(1, "order", 1, 0), (2, "order", 0, 1)]
    assert [readable(one[4]) for one in auditors] == [{"events": 5}] * 2
    assert [readable(one[5]) for one in auditors] == [[], [FINDING]]
    assert [one[:5] for one in readers] == [one[:5] for one in auditors]
    assert [one[5] for one in readers] == [None, None]
    with open_reader(settings, Access.SUPPORT) as reader:
        assert str(verified(reader)).endswith("order: 1 findings")


def verified(reader: Reader) -> VerificationStatus | None:
    return ReadSideViews(reader, "dead-letters").added_to(NOTHING_KNOWN, None).verified


def rows(settings: Settings, sees: Access) -> list[tuple[object, ...]]:
    with open_reader(settings, sees) as reader:
        return [*reader.select(f"{QUERY} ORDER BY seq").rows]


def readable(value: object) -> object:
    return json.loads(value) if isinstance(value, str) else value


def test_before_the_table_exists_it_says_what_creates_it(tmp_path: Path) -> None:
    with pytest.raises(NotRecordedError, match="the next start of `verdict up` makes the table"):
        record(settings_alone(APPLICATION, data_dir=tmp_path), run())


def test_a_database_that_refuses_it_is_named(tmp_path: Path) -> None:
    url = read_side(f"sqlite:///{tmp_path / 'read.db'}")
    with sqlite3.connect(tmp_path / "read.db") as database:
        database.execute(
            "CREATE TRIGGER refuses BEFORE INSERT ON verification_v1 "
            "BEGIN SELECT RAISE(ABORT, 'only to read'); END"
        )
    database.close()

    with pytest.raises(NotRecordedError, match="only to read"):
        record(settings_alone(APPLICATION, database_url=url), run())

"""The audit names changed tables, and feeds that somebody rewrote."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from projections.us_holder import us_holder
from schemas.position import PositionClosed
from tests.application import APPLICATION
from tests.audit.test_looked import away, dropped
from tests.conftest import NewDatabase
from tests.kit.databases import ReadSide
from tests.kit.log import EventLog as Happened
from tests.kit.log import opened
from verdict.operations.audit.finding import Check, CheckResult, Finding
from verdict.operations.audit.projections import (
    NO_FUNCTION_OF_THE_LOG,
    ProjectionAudit,
    faults,
)
from verdict.read_side.as_of.materialiser import AsOfRecords
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.settings.load import load_settings
from verdict.streaming.event_log.event_log import EventLog
from verdict.wire.topics import Topics


@pytest.fixture
def read_side(new_database: NewDatabase) -> Iterator[ReadSide]:
    """Return one in which `ada` came, left and came again, and `bob` came."""
    read_side, log = ReadSide(new_database(), [compile_projection(us_holder)]), Happened()
    applier = read_side.applier("us_holder")
    for name, *payloads in (
        ("p-1", opened("ada")),
        ("p-1", PositionClosed()),
        ("p-2", opened("ada")),
        ("p-3", opened("bob")),
    ):
        log.add(name, *payloads)
        applier.apply(log.everything())
    assert len(read_side.changes()) == 4
    yield read_side
    read_side.close()


def found_in(read_side: ReadSide, tmp_path: Path) -> tuple[list[str], CheckResult]:
    """Return what an audit says that has no records to fold, and what it looked at."""
    looked, folder = CheckResult(), tmp_path / "folded"
    folder.mkdir()
    records = AsOfRecords(EventLog(Topics(APPLICATION), dropped, away), Topics(APPLICATION), away)
    models = ProjectionAudit(
        load_settings(APPLICATION), read_side.engine, records, folder, None, looked, print
    )
    return [str(finding) for finding in models.findings(["position"])], looked


def test_what_was_made_as_it_must_be_has_no_findings_and_what_no_log_tells_is_named(
    read_side: ReadSide, tmp_path: Path
) -> None:
    findings, looked = found_in(read_side, tmp_path)

    assert findings == []
    assert looked.at["changes of us_holder"] == 4
    assert looked.not_checked == [*NO_FUNCTION_OF_THE_LOG]


@pytest.mark.both_databases
@pytest.mark.proves("C-16")
def test_a_table_that_somebody_altered_is_named_and_the_audit_goes_on(
    read_side: ReadSide, tmp_path: Path
) -> None:
    with read_side.engine.begin() as connection:
        connection.execute(text("ALTER TABLE us_holder_change_v1 RENAME COLUMN kind TO sort"))

    findings, looked = found_in(read_side, tmp_path)

    [finding] = [one for one in findings if "rebuild" in one]
    assert finding.startswith("projections: us_holder cannot be read as it was made (")
    assert "kind" in finding.partition("): ")[0]
    assert "`verdict projection rebuild us_holder` builds them again" in finding
    assert looked.not_checked[-2:] == [*NO_FUNCTION_OF_THE_LOG], "it went on to the end"


@pytest.mark.proves("C-16", "H-08")
@pytest.mark.parametrize(
    ("forged", "said"),
    [
        (
            "UPDATE us_holder_change_v1 SET client = 'mallory' WHERE seq = 4",
            ["by all changes 'bob' is not in, but in the table",
             "by all changes 'mallory' is in, and not in the table"],
        ),
        ("DELETE FROM us_holder_change_v1 WHERE seq IN (2, 3)", [
            "changes 2 to 3 are missing"
        ]),
        (
            "DELETE FROM us_holder_change_v1 WHERE seq = 4",
            ["the last change is 3, and 4 were announced",
             "by all changes 'bob' is not in, but in the table"],
        ),
        (
            "UPDATE us_holder_change_v1 SET kind = 'entered' WHERE seq = 2",
            ["change 2: 'ada' entered, and by the changes before it is in",
             "change 3: 'ada' entered, and by the changes before it is in"],
        ),
    ],
)  # fmt: skip
def test_a_feed_that_does_not_give_the_table_is_named(
    read_side: ReadSide, tmp_path: Path, forged: str, said: list[str]
) -> None:
    with read_side.engine.begin() as connection:
        connection.execute(text(forged))

    findings, _ = found_in(read_side, tmp_path)

    assert findings == [f"projections: us_holder_change_v1: {one}" for one in said]


def test_a_kind_that_there_is_not_is_named() -> None:
    assert [*faults([(1, "ada", "stayed")], 1, set())] == [
        "change 1: 'stayed' is neither entered nor left"
    ]


def test_an_aggregate_of_unknown_type_is_called_an_aggregate() -> None:
    finding = Finding(check=Check.PROJECTIONS, what="the row is missing", aggregate_id="q-1")

    assert str(finding) == "projections: aggregate 'q-1': the row is missing"

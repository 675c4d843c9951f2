"""The audit of projections: changed tables and feeds are named, and what it cannot look at."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Never

import pytest
from sqlalchemy import Engine, text

from projections.us_holder import us_holder
from schemas.position import PositionClosed
from tests.application import APPLICATION
from tests.conftest import NewDatabase
from tests.kit.databases import ReadSide
from tests.kit.log import EventLog as Happened
from tests.kit.log import opened
from verdict.cli.verify import exit_code_of, summary, unavailable_checks
from verdict.errors import UnreachableError, VerdictError
from verdict.operations.audit.finding import Check, CheckResult, Finding
from verdict.operations.audit.projections import NO_FUNCTION_OF_THE_LOG, ProjectionAudit, faults
from verdict.read_side.as_of.materialiser import AsOfRecords
from verdict.read_side.catalog import declared
from verdict.read_side.projections.builtin.outcome import outcome
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.read_side.tables import position, versions
from verdict.settings.load import load_settings
from verdict.streaming.event_log.event_log import EventLog, EventsMissingError
from verdict.wire.partitions import TopicPartition
from verdict.wire.topics import Topics

PLACE = TopicPartition(Topics(APPLICATION).responses("order"), 0)


TYPES = APPLICATION.aggregate_types


def dropped() -> Never:
    raise EventsMissingError(PLACE, 0, 8)


def dropped_when_read() -> Never:
    raise EventsMissingError(PLACE, 0, 7)


def away() -> Never:
    raise UnreachableError("there is no archive")


def audited(
    engine: Engine, folder: Path, *types: str, log: Callable[[], Never] = dropped
) -> tuple[list[str], CheckResult]:
    """Return what an audit says that has no records to fold, and what it looked at."""
    looked, topics = CheckResult(), Topics(APPLICATION)
    records = AsOfRecords(EventLog(topics, log, away), topics, away)
    audit = ProjectionAudit(
        load_settings(APPLICATION), engine, records, folder, None, looked, lambda text: None
    )
    return [str(finding) for finding in audit.findings(types)], looked


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


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """Return a read side with `outcome` only, which has read responses."""
    engine = open_database(f"sqlite:///{tmp_path / 'verdict.db'}")
    create_read_side(engine, [outcome(1)])
    with engine.begin() as connection:
        position.advance(connection, outcome(1), {}, {PLACE: 7})
    yield engine
    engine.dispose()


def test_what_was_made_as_it_must_be_has_no_findings_and_what_no_log_tells_is_named(
    read_side: ReadSide, tmp_path: Path
) -> None:
    findings, looked = audited(read_side.engine, tmp_path, "position")

    assert findings == []
    assert looked.at["changes of us_holder"] == 4
    assert looked.not_checked == [*NO_FUNCTION_OF_THE_LOG]


def test_what_was_built_with_other_settings_is_not_compared(
    read_side: ReadSide, tmp_path: Path
) -> None:
    with read_side.engine.begin() as connection:
        connection.execute(text("UPDATE projection_version_v1 SET settings = 'of before'"))

    findings, looked = audited(read_side.engine, tmp_path, "position")

    assert findings == []
    assert [one for one in looked.unavailable if "us_holder v1 was built with 'of before'" in one]


@pytest.mark.both_databases
@pytest.mark.proves("C-16")
def test_a_table_that_somebody_altered_is_named_and_the_audit_goes_on(
    read_side: ReadSide, tmp_path: Path
) -> None:
    with read_side.engine.begin() as connection:
        connection.execute(text("ALTER TABLE us_holder_change_v1 RENAME COLUMN kind TO sort"))

    findings, looked = audited(read_side.engine, tmp_path, "position")

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

    findings, _ = audited(read_side.engine, tmp_path, "position")

    assert findings == [f"projections: us_holder_change_v1: {one}" for one in said]


def test_a_kind_that_there_is_not_is_named() -> None:
    assert [*faults([(1, "ada", "stayed")], 1, set())] == [
        "change 1: 'stayed' is neither entered nor left"
    ]


def test_an_aggregate_of_unknown_type_is_called_an_aggregate() -> None:
    finding = Finding(check=Check.PROJECTIONS, what="the row is missing", aggregate_id="q-1")

    assert str(finding) == "projections: aggregate 'q-1': the row is missing"


def test_read_models_that_cannot_be_folded_or_are_missing_are_named(
    engine: Engine, tmp_path: Path
) -> None:
    findings, looked = audited(engine, tmp_path, *TYPES, log=dropped)

    assert findings == []
    told = dict(one.split(": ", 1) for one in looked.unavailable)
    assert set(told) == set(declared(APPLICATION))
    assert told.pop("outcome").startswith("records of order.responses:0 are archived up to")
    assert set(told.values()) == {"the read side has none; start `verdict up` once"}
    assert looked.not_checked == [*NO_FUNCTION_OF_THE_LOG]


def test_responses_that_kafka_dropped_when_they_were_read_are_no_fault(
    engine: Engine, tmp_path: Path
) -> None:
    findings, looked = audited(engine, tmp_path, *TYPES, log=dropped_when_read)

    assert findings == []
    assert not any(one.startswith("outcome") for one in looked.unavailable)
    assert looked.not_checked[0] == (
        "outcome: of order.responses:0 Kafka has dropped what was before offset 7; it was read, "
        "and is nowhere else"
    )


def test_a_read_model_that_is_stopped_is_not_clean(engine: Engine, tmp_path: Path) -> None:
    """What came after the offset at which it stopped is not compared with anything."""
    with engine.begin() as connection:
        versions.stop(connection, outcome(1), ValueError("no room"), 5)

    findings, looked = audited(engine, tmp_path, *TYPES, log=dropped_when_read)

    assert findings == []
    assert "outcome, behind where it is stopped: no room" in looked.unavailable


def test_what_could_not_be_looked_at_is_not_clean() -> None:
    looked = CheckResult(unavailable=["outcome: gone"], not_checked=["2 places"])

    assert summary(looked, 0)["clean"] is False
    assert [*unavailable_checks(looked)][1:] == [
        "could not be checked: outcome: gone", "not checked: 2 places",
    ]  # fmt: skip
    with pytest.raises(VerdictError, match="as it was written, and 1 things could not be checked"):
        exit_code_of(looked, Counter())
    with pytest.raises(
        VerdictError, match=r"3 findings: .* `verdict projection rebuild NAME` builds"
    ):
        exit_code_of(looked, Counter({Check.CHAIN: 2, Check.PROJECTIONS: 1}))
    with pytest.raises(VerdictError, match=r"1 findings: .* after the aggregate's `snapshot_for"):
        exit_code_of(looked, Counter({Check.STATE: 1}))


def test_what_is_passed_over_or_lies_elsewhere_is_clean() -> None:
    most = CheckResult(not_checked=["2 places"])

    assert summary(most, 0)["clean"] is True
    assert exit_code_of(most, Counter()) == "all that was checked is as it was written"

"""What an audit cannot look at is not taken for clean."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Never

import pytest
from sqlalchemy import Engine

from tests.application import APPLICATION
from verdict.cli.verify import exit_code_of, summary, unavailable_checks
from verdict.errors import UnreachableError, VerdictError
from verdict.operations.audit.finding import Check, CheckResult
from verdict.operations.audit.projections import NO_FUNCTION_OF_THE_LOG, ProjectionAudit
from verdict.read_side.as_of.materialiser import AsOfRecords
from verdict.read_side.catalog import declared
from verdict.read_side.projections.builtin.outcome import outcome
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.read_side.tables import position, versions
from verdict.settings.load import load_settings
from verdict.streaming.event_log.event_log import EventLog, EventsMissingError
from verdict.wire.partitions import TopicPartition
from verdict.wire.topics import Topics

PLACE = TopicPartition(Topics(APPLICATION).responses("order"), 0)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """Return a read side with `outcome` only, which has read responses."""
    engine = open_database(f"sqlite:///{tmp_path / 'verdict.db'}")
    create_read_side(engine, [outcome(1)])
    with engine.begin() as connection:
        position.advance(connection, outcome(1), {}, {PLACE: 7})
    yield engine
    engine.dispose()


def dropped() -> Never:
    raise EventsMissingError(PLACE, 0, 8)


def dropped_when_read() -> Never:
    raise EventsMissingError(PLACE, 0, 7)


def away() -> Never:
    raise UnreachableError("there is no archive")


def audited(engine: Engine, tmp_path: Path, log: Callable[[], Never]) -> CheckResult:
    """Return what an audit looked at that finds nothing, as it has no records."""
    looked, folder = CheckResult(), tmp_path / "folded"
    folder.mkdir()
    records = AsOfRecords(EventLog(Topics(APPLICATION), log, away), Topics(APPLICATION), away)
    models = ProjectionAudit(
        load_settings(APPLICATION), engine, records, folder, None, looked, lambda text: None
    )
    assert [*models.findings([*APPLICATION.aggregate_types])] == []
    return looked


def test_read_models_that_cannot_be_folded_or_are_missing_are_named(
    engine: Engine, tmp_path: Path
) -> None:
    looked = audited(engine, tmp_path, dropped)

    told = dict(one.split(": ", 1) for one in looked.unavailable)
    assert set(told) == set(declared(APPLICATION))
    assert told.pop("outcome").startswith("records of order.responses:0 are archived up to")
    assert set(told.values()) == {"the read side has none; start `verdict up` once"}
    assert looked.not_checked == [*NO_FUNCTION_OF_THE_LOG]


def test_responses_that_kafka_dropped_when_they_were_read_are_no_fault(
    engine: Engine, tmp_path: Path
) -> None:
    looked = audited(engine, tmp_path, dropped_when_read)

    assert not any(one.startswith("outcome") for one in looked.unavailable)
    assert looked.not_checked[0] == (
        "outcome: of order.responses:0 Kafka has dropped what was before offset 7; it was read, "
        "and is nowhere else"
    )


def test_a_read_model_that_is_stopped_is_not_clean(engine: Engine, tmp_path: Path) -> None:
    """What came after the offset at which it stopped is not compared with anything."""
    with engine.begin() as connection:
        versions.stop(connection, outcome(1), ValueError("no room"), 5)

    looked = audited(engine, tmp_path, dropped_when_read)

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

"""The final rows of a log: all rows, some at a time, up to a record that cannot be folded."""

from contextlib import ExitStack
from itertools import cycle
from pathlib import Path

import pytest

from projections.us_holder import us_holder
from schemas.position import PositionAdjusted
from tests.application import APPLICATION
from tests.kit.log import EventLog
from tests.kit.log import opened as position
from verdict.errors import VerdictError
from verdict.read_side.live.decoding import RecordDecoder
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.read_side.projections.projection import CannotApplyError, Rebuildable
from verdict.read_side.rebuild import final_rows
from verdict.read_side.rebuild.final_rows import FinalRows, FoldedRows
from verdict.read_side.rebuild.log_fold import distribute, fold, start
from verdict.streaming.event_log.record import RawRecord
from verdict.wire.topics import Topics

ROWS = 4
POSITIONS = [f"p-{number:02}" for number in range(3 * ROWS + 1)]


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(final_rows, "ROWS", ROWS)


def records(log: EventLog, damaged: str = "") -> list[RawRecord]:
    """Return the records of a log, of which that of one position may be damaged."""
    return [
        RawRecord(d.topic, d.partition, d.offset, key.encode(), b"?" if key == damaged else d.value)
        for d, key in zip(log.deliveries, cycle(POSITIONS), strict=False)
    ]


def task_of(projection: Rebuildable) -> FinalRows:
    return FinalRows(RecordDecoder(Topics(APPLICATION)), projection.builder, {})


def folded(*shares: list[Path]) -> list[FoldedRows]:
    """Return what processes make of files, one of each share."""
    with ExitStack() as parts:
        return [*fold(start(task_of(compile_projection(us_holder)), shares, parts))]


@pytest.fixture
def log(log: EventLog) -> EventLog:
    """Return the log of some positions."""
    for name in POSITIONS:
        log.add(name, position("ada"))
    return log


@pytest.mark.usefixtures("small_chunks")
def test_all_rows_come_some_at_a_time(log: EventLog) -> None:
    rows = task_of(compile_projection(us_holder))(records(log))

    found = [[name for name, *_ in some.values] for some in rows]

    assert [len(names) for names in found] == [ROWS, ROWS, ROWS, 1]
    assert [name for names in found for name in names] == POSITIONS


def test_processes_fold_all_records_in_the_order_of_each_key(log: EventLog, tmp_path: Path) -> None:
    for name in POSITIONS:
        log.add(name, PositionAdjusted(amount=2))
    found = records(log)
    files = [tmp_path / str(number) for number in range(4)]

    distribute(reversed(found), files)

    rows = folded(files[:2], files[2:])
    versions = [(name, version) for some in rows for name, version, *_ in some.values]
    assert sorted(versions) == [(name, 2) for name in POSITIONS]


def test_a_record_that_cannot_be_read_is_named(log: EventLog, tmp_path: Path) -> None:
    file, partition = tmp_path / "0", log.place_of(POSITIONS[-1]).partition
    distribute(iter(records(log, damaged=POSITIONS[-1])), [file])

    with pytest.raises(
        CannotApplyError, match=f"position.events:{partition}:.*no Confluent header"
    ):
        folded([file])


def test_a_process_that_ends_too_early_is_reported(tmp_path: Path) -> None:
    with pytest.raises(VerdictError, match="a process that folded records ended with code 1"):
        folded([tmp_path / "missing"])


def test_an_aggregate_with_a_gap_is_built_up_to_it_and_the_gap_is_reported() -> None:
    log = EventLog(1)
    log.add("a", position("ada"))
    log.add_unseen("a", PositionAdjusted(amount=2))
    log.add("a", PositionAdjusted(amount=3))
    log.add_unseen("b", position("bob"))
    log.add("b", PositionAdjusted(amount=3))
    found = [
        RawRecord(*d[:3], name.encode(), d.value)
        for d, name in zip(log.deliveries, "aab", strict=True)
    ]

    [rows] = task_of(compile_projection(us_holder))(found)

    assert [row[:2] for row in rows.values] == [("a", 1)]
    assert [(gap.aggregate_id, gap.version_needed, gap.version_seen) for gap in rows.gaps] == [
        ("a", 2, 3), ("b", 1, 2),
    ]  # fmt: skip

"""What a task of a rebuild hands over: all rows, some at a time, up to what it cannot fold."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from projections.us_holder import us_holder
from projections.us_holder_from_state import us_holder_from_state
from tests.application import APPLICATION
from tests.kit.log import EventLog
from tests.kit.log import opened as position
from verdict.read_side.live.decoding import RecordDecoder
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.read_side.projections.projection import Rebuildable
from verdict.read_side.rebuild import final_rows
from verdict.read_side.rebuild.final_rows import (
    ERROR,
    FILE,
    GAP,
    KAFKA_COLUMNS,
    FinalRows,
    gap_of,
    schema_of,
)
from verdict.wire.topics import Topics

ROWS = 4
POSITIONS = [f"p-{number:02}" for number in range(3 * ROWS + 1)]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(final_rows, "ROWS", ROWS)


def chunks(log: EventLog, folder: Path, damaged: str = "") -> list[pa.RecordBatch]:
    """Return what a task makes of a log, in which the record of one position may be damaged."""
    found = [
        (d.topic, d.partition, d.offset, key.encode(), b"?" if key == damaged else d.value)
        for d, key in zip(log.deliveries, POSITIONS, strict=True)
    ]
    columns = [pa.array(values) for values in zip(*found, strict=True)]
    return made_of(columns, compile_projection(us_holder), folder)


def made_of(columns: list[pa.Array], projection: Rebuildable, folder: Path) -> list[pa.RecordBatch]:
    """Return what a task makes of `KAFKA_COLUMNS`."""
    decoder, schema = RecordDecoder(Topics(APPLICATION)), schema_of(projection.tables[0])
    task = FinalRows(decoder, projection.builder, schema, {}, folder)
    [made] = task(iter([pa.RecordBatch.from_arrays(columns, names=list(KAFKA_COLUMNS))]))
    [file] = made.column(FILE).to_pylist()
    with pq.ParquetFile(file) as parquet:
        groups = map(parquet.read_row_group, range(parquet.num_row_groups))
        return [group.to_batches()[0] for group in groups]


def test_all_rows_come_some_at_a_time(log: EventLog, tmp_path: Path) -> None:
    for name in POSITIONS:
        log.add(name, position("ada"))

    found = [chunk.column("aggregate_id").to_pylist() for chunk in chunks(log, tmp_path)]

    assert [len(names) for names in found] == [ROWS, ROWS, ROWS, 1]
    assert [name for names in found for name in names] == POSITIONS


def test_a_record_that_cannot_be_read_ends_the_task_with_the_reason(
    log: EventLog, tmp_path: Path
) -> None:
    for name in POSITIONS:
        log.add(name, position("ada"))

    *_, last = chunks(log, tmp_path, damaged=POSITIONS[-1])

    [error] = last.column(ERROR).to_pylist()
    assert f"position.events:{log.place_of(POSITIONS[-1]).partition}:" in error
    assert "no Confluent header" in error


def test_a_state_that_cannot_be_read_leaves_the_row_of_its_key_and_a_gap_with_the_reason(
    tmp_path: Path,
) -> None:
    good = b'{"id": "1", "client": "ada", "ticker": "FB", "amount": 33, "exchange": "NYSE"}'
    records = [
        (b"1", good), (b"1", b"?"), (b"2", b"?"), (b"3", b"?"), (b"3", None), (b"\xff", good),
    ]  # fmt: skip
    topic, keys, values = Topics(APPLICATION).named("share-holders"), *zip(*records, strict=True)
    offsets = range(7, 7 + len(records))
    columns = [pa.array(c) for c in ([topic] * 6, [2] * 6, offsets, keys, values)]

    [rows] = made_of(columns, compile_projection(us_holder_from_state), tmp_path)

    assert rows.column("aggregate_id").to_pylist() == ["1", None, None]
    assert rows.column("version").to_pylist() == [8, None, None]
    assert rows.column(ERROR).to_pylist() == [None] * 3
    gaps = [gap_of(text) for text in rows.column(GAP).to_pylist()]
    assert [(gap.aggregate_type, gap.aggregate_id, gap.version_needed) for gap in gaps] == [
        (topic, "1", 9), (topic, "2", 10), (topic, "no id: 0xff", 13),
    ]  # fmt: skip
    assert str(gaps[0].fault).startswith(
        f"record {topic}:2:8: state of '1': not readable: ValidationError: "
    )
    assert gaps[2].fault is not None
    assert gaps[2].fault.delivery[:3] == (topic, 2, 12)

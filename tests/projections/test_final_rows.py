"""What a task of a rebuild hands over: all rows, some at a time, up to what it cannot fold."""

from collections.abc import Iterator

import pyarrow as pa
import pytest

from projections import final_rows
from projections.final_rows import CHUNK, ERROR, FinalRows, opened, schema_of
from projections.stream import KAFKA_COLUMNS, Decoder
from projections.us_holder import us_holder
from schemas.topics import Topics
from tests.projections.event_log import EventLog
from tests.projections.event_log import opened as position

ROWS = 4
POSITIONS = [f"p-{number:02}" for number in range(3 * ROWS + 1)]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(final_rows, "ROWS", ROWS)


def chunks(log: EventLog, damaged: str = "") -> Iterator[pa.RecordBatch]:
    """Yield what a task makes of a log, in which the record of one position may be damaged."""
    found = [
        (d.topic, d.partition, d.offset, key.encode(), b"?" if key == damaged else d.value)
        for d, key in zip(log.deliveries, POSITIONS, strict=True)
    ]
    columns = [pa.array(values) for values in zip(*found, strict=True)]
    task = FinalRows(Decoder(Topics()), us_holder().builder, schema_of(us_holder().table), {})
    for made in task(iter([pa.RecordBatch.from_arrays(columns, names=list(KAFKA_COLUMNS))])):
        assert made.num_rows == 1
        yield opened(made.column(CHUNK)[0].as_buffer())


def test_all_rows_come_in_chunks(log: EventLog) -> None:
    for name in POSITIONS:
        log.add(name, position("ada"))

    found = [chunk.column("aggregate_id").to_pylist() for chunk in chunks(log)]

    assert [len(names) for names in found] == [ROWS, ROWS, ROWS, 1]
    assert [name for names in found for name in names] == POSITIONS


def test_a_record_that_cannot_be_read_ends_the_task_with_the_reason(log: EventLog) -> None:
    for name in POSITIONS:
        log.add(name, position("ada"))

    *_, last = chunks(log, damaged=POSITIONS[-1])

    [error] = last.column(ERROR).to_pylist()
    assert f"position.events:{log.place_of(POSITIONS[-1]).partition}:" in error
    assert "no Confluent header" in error

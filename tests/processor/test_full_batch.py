"""A batch of many bytes: decided slice by slice and handed over in files, with the same bytes."""

import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql.streaming.tws_tester import TwsTester

from tests.application import APPLICATION
from tests.decide.desk import command_record, log_of
from tests.model import Record
from tests.processor.test_processor import _frame, cut, unpacked
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.streaming.exactly_once.outputs import Handover, chunks_of
from verdict.wire.topics import Topics
from verdict.write_side.decide.command_checks import Limits
from verdict.write_side.processor import processor
from verdict.write_side.processor.processor import CommandProcessor, in_slices
from verdict.write_side.state.log_structured import LogStructuredState


@pytest.fixture
def peak() -> Iterator[Callable[[], int]]:
    """Return the most bytes of Python's that were in use since the last call."""

    def measured() -> int:
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        return found

    tracemalloc.start()
    yield measured
    tracemalloc.stop()


SCHEMA = pa.schema([("outputs", pa.binary()), ("file", pa.string())])


def handed_over(folder: Path, state: str, batches: list[list[Record]]) -> list[OutputRecord]:
    """Return what the driver reads of the operator's outputs over `batches`."""
    make_state = partial(LogStructuredState, folder=folder / state)
    tester = TwsTester(CommandProcessor(Topics(APPLICATION), Limits(), make_state, folder))
    found = []
    for batch in batches:
        frame = tester.testInPandas(1, _frame(batch))
        table = pa.Table.from_pandas(frame, SCHEMA, preserve_index=False)
        found += [output for chunk in chunks_of(table) for output in unpacked(chunk)]
    return found


@pytest.mark.proves("C-11")
@pytest.mark.parametrize("slice_bytes", [1, 2_000, 70_000])
@pytest.mark.parametrize("by_spark", [0, 3_000])
def test_slices_and_files_change_no_byte_and_no_order(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, slice_bytes: int, by_spark: int
) -> None:
    batches = cut(log_of(5, 150), Random(5))
    whole = handed_over(tmp_path, "whole", batches)
    assert not [*tmp_path.glob("*.chunk")]

    monkeypatch.setattr(processor, "in_slices", partial(in_slices, slice_bytes=slice_bytes))
    monkeypatch.setattr(processor, "Handover", partial(Handover, by_spark=by_spark))

    assert handed_over(tmp_path, "sliced", batches) == whole
    assert [*tmp_path.glob("*.chunk")]


def records(sizes: list[int | None], random: Random) -> list[Any]:
    found = [
        command_record(
            Record("t", n % 2, n, 1, b"k", None if size is None else random.randbytes(size))
        )
        for n, size in enumerate(sizes)
    ]
    random.shuffle(found)
    return found


def test_slices_hold_everything_in_order_and_no_more_bytes_than_they_may(tmp_path: Path) -> None:
    random = Random(3)
    sizes = [random.choice((None, 0, 10, 500, 990)) for _ in range(300)]
    given = records(sizes, random)

    parts = [*in_slices(iter(given), tmp_path, slice_bytes=1000)]

    assert [one for part in parts for one in part] == sorted(given, key=lambda one: one.place)
    assert max(sum(len(one.value or b"") for one in part) for part in parts) < 2000
    assert len(parts) > 50
    assert [*tmp_path.iterdir()] == []


def test_while_rows_arrive_only_a_slice_of_their_values_is_in_memory(
    tmp_path: Path, peak: Callable[[], int]
) -> None:
    def arriving() -> Any:
        random = Random(1)
        for n in range(400):
            yield command_record(Record("t", 0, n, 1, b"k", random.randbytes(64 * 1024)))

    parts = in_slices(arriving(), tmp_path, slice_bytes=2 * 2**20)

    assert sum(map(len, parts)) == 400
    assert peak() < 8 * 2**20


def test_chunks_are_read_from_files_one_at_a_time(tmp_path: Path, peak: Callable[[], int]) -> None:
    handover = Handover(tmp_path, by_spark=0)
    frames = [handover.frame(bytes([n]) * 2**20) for n in range(64)]
    table = pa.Table.from_pandas(pd.concat(frames), SCHEMA, preserve_index=False)
    before = peak()

    sizes = [(len(chunk), chunk[0]) for chunk in chunks_of(table)]

    assert sizes == [(2**20, n) for n in range(64)]
    assert table["outputs"].null_count == 64
    assert peak() - before < 8 * 2**20

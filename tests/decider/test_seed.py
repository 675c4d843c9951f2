"""A fresh operator that begins with a seed answers like the one whose state the seed is."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.streaming.tws_tester import TwsTester

from tests.application import APPLICATION
from tests.decide.desk import log_of
from tests.decider.test_fold import decided
from tests.processor.fake_state import MapShardState
from tests.processor.test_processor import _frame, _rows, by_topic_and_key
from verdict.streaming.exactly_once.state_moves import moves_of
from verdict.wire.progress_record import ShardState
from verdict.wire.topics import Topics
from verdict.write_side.decide.command_checks import Limits
from verdict.write_side.processor.processor import CommandProcessor
from verdict.write_side.state import log_head, seed
from verdict.write_side.state.log_structured import LogStructuredState
from verdict.write_side.state.seed import stamp_of
from verdict.write_side.state.shard_state import StateEntry

SHARD = 1


def written(entries: Mapping[bytes, StateEntry], file: Path) -> Path:
    """Write a seed as recovery does."""
    columns = {
        "key": list(entries),
        "entry": [entry.value for entry in entries.values()],
        "keep_ms": [entry.keep_ms for entry in entries.values()],
    }
    pq.write_table(pa.table(columns), file)
    return file


@pytest.mark.parametrize("kind", ["plain", "log-structured"])
def test_a_seeded_operator_goes_on_with_the_same_bytes(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seed, "PIECE_BYTES", 2000)  # several pieces a file
    states: dict[str, Callable[[Any], Any]] = {
        "plain": MapShardState,
        "log-structured": partial(LogStructuredState, folder=tmp_path / "local"),
    }
    log = log_of(seed=3, length=200)
    state, before = decided(log[:120], Limits())
    _, whole = decided(log, Limits())
    halves = [dict(list(state.entries.items())[part::2]) for part in range(2)]
    files = [written(half, tmp_path / f"{part}.parquet") for part, half in enumerate(halves)]

    seeds = pd.DataFrame({"shard": [SHARD] * 2, "file": list(map(str, files))})
    processor = CommandProcessor(Topics(APPLICATION), Limits(), states[kind])
    tester = TwsTester(processor, initialStatePandas=[(SHARD, seeds)])
    after = list(_rows(tester.testInPandas(SHARD, _frame(log[120:]))))

    assert by_topic_and_key(before + after) == by_topic_and_key(whole)


def test_a_fresh_state_has_the_position_of_its_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In whatever order Spark brings the files; its pages are split and folded meanwhile."""
    monkeypatch.setattr(seed, "PIECE_BYTES", 20_000)
    monkeypatch.setattr(log_head, "PAGE_BYTES", 5000)
    random = Random(7)
    parts = [
        {
            random.randbytes(20): StateEntry(random.randbytes(100), number % 3)
            for number in range(1000)
        }
        for _ in range(3)
    ]
    files = [str(written(part, tmp_path / f"{name}.parquet")) for name, part in enumerate(parts)]

    state = partial(LogStructuredState, folder=tmp_path / "local")
    seeds = pd.DataFrame({"shard": [SHARD] * 3, "file": files[::-1]})
    processor = CommandProcessor(Topics(APPLICATION), Limits(), state)
    tester = TwsTester(processor, initialStatePandas=[(SHARD, seeds)])
    told = tester.testInPandas(SHARD, _frame(log_of(seed=1, length=5)))[["moved"]]
    [moved] = moves_of(pa.Table.from_pandas(told), [SHARD])

    assert moved.before == ShardState(*stamp_of(files))
    assert moved.before.sequence > 15


def test_a_large_seed_is_never_held_as_a_whole(tmp_path: Path) -> None:
    """C-13: what was read of the file is given back before the rest is read."""
    file, random = tmp_path / "large.parquet", Random(1)
    columns = {"key": pa.binary(), "entry": pa.binary(), "keep_ms": pa.int64()}
    with pq.ParquetWriter(file, pa.schema(columns)) as writer:
        for part in range(40):
            keys = [f"{part}-{number}".encode() for number in range(1000)]
            values = [random.randbytes(1000) for _ in keys]  # they do not compress
            rows = [keys, values, [0] * len(keys)]
            writer.write_table(pa.table(dict(zip(columns, rows, strict=True))))
    before = pa.total_allocated_bytes()

    held = max(pa.total_allocated_bytes() - before for _ in seed.pieces(str(file)))

    assert held < file.stat().st_size / 4

"""C-13: a state that is four times what the memory of its process may be."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.application import APPLICATION
from tests.bench.state_entries import NOW
from tests.documents import ROOT
from tests.operator import capped
from tests.operator.capped_operator import CAP_BYTES, Asked, CappedProcessor, modified, placed, seed
from tests.operator.outputs import unpacked
from verdict.adapters.spark.session import spark_session
from verdict.streaming.exactly_once.outputs import chunks_of
from verdict.wire.records import decode
from verdict.wire.response import Response
from verdict.wire.topics import Topics
from verdict.write_side.decide.handle import Limits
from verdict.write_side.processor.outputs import Output
from verdict.write_side.processor.stream import decisions, shard_keys
from verdict.write_side.state.log_structured import LogStructuredState
from verdict.write_side.state.seed import SEEDS_SCHEMA

BEYOND_MIB = 24  # of a bare interpreter
TIMES = 4
ASKED = 1000  # of either kind; they are large, and a batch must fit
MALLOC = {  # the limit counts what allocators reserve; Arrow's own reserves 1 GiB
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
    "spark.executorEnv.MALLOC_ARENA_MAX": "2",
}
COLUMNS = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "headers array<struct<key: string, value: binary>>"
)


@pytest.mark.proves("C-13")
@pytest.mark.process
@pytest.mark.long
def test_a_state_four_times_the_capped_memory_grows_is_read_and_rebuilt(tmp_path: Path) -> None:
    """Nine tenths of it are remembered ids."""
    command = [sys.executable, "-m", capped.__name__, str(tmp_path), str(BEYOND_MIB), str(TIMES)]

    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["capped"]
    assert found["right"] == found["right_after_rebuild"] == 2 * capped.ASKED
    assert found["cap_bytes"] < 64 * 2**20
    entries = found["aggregates"] * (capped.SNAPSHOT_BYTES + capped.OUTCOME_BYTES)
    assert min(entries, found["local_copy_bytes"]) > TIMES * found["cap_bytes"]


@pytest.mark.campaign
@pytest.mark.spark
@pytest.mark.timeout(900)
@pytest.mark.long
def test_spark_s_worker_decides_on_a_state_four_times_its_capped_memory(tmp_path: Path) -> None:
    """The state comes as a seed, as after a recovery; then ids are repeated and orders modified."""
    orders = seed(tmp_path / "seed.parquet", TIMES * CAP_BYTES)
    chosen = Random(1).sample(range(orders), 2 * ASKED)
    asked = [*map(placed, chosen[:ASKED]), *map(modified, chosen[ASKED:])]
    spark = spark_session("capped", 1, 1, "2g", tmp_path / "spark", extra=MALLOC)
    try:
        outputs = _decided(spark, asked, tmp_path)
    finally:
        spark.stop()

    answers = [decode(Response, one.value) for one in outputs if "responses" in one.topic]
    outcomes = Counter((one.status, one.duplicate, one.to_version) for one in answers)
    assert outcomes == {("ACCEPTED", True, 1): ASKED, ("ACCEPTED", False, 2): ASKED}
    assert Counter(one.topic for one in outputs)["order.events"] == ASKED
    copies = (tmp_path / "local").rglob("data.mdb")
    assert sum(file.stat().st_blocks * 512 for file in copies) > TIMES * CAP_BYTES


def _decided(spark: SparkSession, asked: list[Asked], folder: Path) -> list[Output]:
    commands = spark.createDataFrame(_on_kafka(asked), COLUMNS)
    commands.write.parquet(str(folder / "commands"))
    stream = spark.readStream.schema(commands.schema).parquet(str(folder / "commands"))
    state = partial(LogStructuredState, folder=folder / "local")
    processor = CappedProcessor(Topics(APPLICATION), Limits(), state)
    [shard] = shard_keys(spark, 1)
    seeds = spark.createDataFrame([(shard, str(folder / "seed.parquet"))], SEEDS_SCHEMA)
    tables: list[pa.Table] = []

    def take(frame: DataFrame, batch_id: int) -> None:
        tables.append(frame.toArrow())

    query = (
        decisions(stream, processor, [shard], 64 * 1024, seeds)
        .writeStream.option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .foreachBatch(take)
        .start()
    )
    query.awaitTermination()
    chunks = (chunk for table in tables for chunk in chunks_of(table))
    return [output for chunk in chunks for output in unpacked(chunk)]


def _on_kafka(asked: Iterable[Asked]) -> Iterator[tuple[Any, ...]]:
    at = datetime.fromtimestamp(NOW / 1000 + 1, UTC)
    for offset, one in enumerate(asked):
        yield bytearray(one.key), bytearray(one.value), "order.commands", 0, offset, at, None

"""A real query that has nothing to do looks seldom, and at once often when there is something."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from verdict.streaming.queries.spark_query import IDLE_AFTER_S, Pauses

IDLE_MS = 250


class Clock:
    """Seconds, as a test wants them."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def query(spark: SparkSession, tmp_path: Path) -> Iterator[StreamingQuery]:
    """A query on an empty folder, which counts what comes there."""
    (tmp_path / "in").mkdir()
    read = spark.readStream.text(str(tmp_path / "in"))
    writer = read.writeStream.foreachBatch(lambda *_: None)
    begun = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    yield begun
    begun.stop()


def test_pauses_are_long_while_nothing_comes_and_as_configured_when_it_does(
    spark: SparkSession, query: StreamingQuery
) -> None:
    clock = Clock()
    pauses = Pauses(spark, query, IDLE_MS, clock)
    told = pauses.ms

    clock.now = IDLE_AFTER_S
    pauses.look()
    assert pauses.ms == told < IDLE_MS
    clock.now += 0.1
    pauses.look()
    assert pauses.ms == IDLE_MS
    pauses.worked()
    assert pauses.ms == told
    clock.now += IDLE_AFTER_S / 2
    pauses.look()
    assert pauses.ms == told


def test_a_query_with_long_pauses_takes_what_comes(
    spark: SparkSession, query: StreamingQuery, tmp_path: Path
) -> None:
    clock = Clock()
    pauses = Pauses(spark, query, IDLE_MS, clock)
    clock.now = IDLE_AFTER_S + 1
    pauses.look()

    (tmp_path / "in" / "one.txt").write_text("a line\n")
    query.processAllAvailable()

    assert query.lastProgress is not None
    assert query.lastProgress["batchId"] == 0

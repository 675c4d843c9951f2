"""What Spark says of its batches."""

import time
from collections.abc import Callable
from typing import NamedTuple

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

WARMING = 1 / 3  # of the batches: until then the JVM compiles what it runs
POLL_S = 0.2


class BatchTime(NamedTuple):
    """One micro-batch: its input rows, and how long it took from trigger to commit."""

    rows: int
    ms: int


def query_named(spark: SparkSession, name: str) -> StreamingQuery:
    """Return the running query of that name."""
    return next(query for query in spark.streams.active if query.name == name)


def await_rows(query: StreamingQuery, rows: int, check: Callable[[], None]) -> list[BatchTime]:
    """Return the batches of `query` that read something, once they have read `rows` rows in all.

    Args:
        query: Running, and kept so by nobody else.
        rows: That it will read.
        check: Raises when it has failed.
    """
    while True:
        check()
        batches = [
            BatchTime(progress.numInputRows, progress.durationMs["triggerExecution"])
            for progress in query.recentProgress
            if progress.numInputRows
        ]
        if sum(batch.rows for batch in batches) >= rows:
            return batches
        time.sleep(POLL_S)


def rows_per_s(batches: list[BatchTime]) -> float:
    """Return the rate of the batches behind the warming ones."""
    warm = batches[int(len(batches) * WARMING) :]
    return sum(batch.rows for batch in warm) / sum(batch.ms for batch in warm) * 1000

"""One life of a query after the other: what is told of its end, and when Spark is not asked."""

from collections.abc import Callable
from pathlib import Path

import pytest

from verdict.adapters.spark.query_settings import POOL
from verdict.errors import UnreachableError, VerdictError
from verdict.streaming.exactly_once.batch import SourceBatch
from verdict.streaming.queries import spark_query as running
from verdict.streaming.queries.spark_query import SparkQuery

# ruff: noqa: N802, N803  (names of PySpark)

BATCH = SourceBatch(query_id="q", batch_id=7, start={}, end={})


class Spark:
    """Session, stream, writer and query in one, as PySpark calls them."""

    def __init__(self) -> None:
        self.writeStream = self.sparkContext = self.sparkSession = self.conf = self
        self.isActive = False
        self.stops = 0
        self.pools: list[str | None] = [None]
        self.began_in: str | None = None

    def get(self, name: str) -> str:
        return "of the session"

    def set(self, name: str, value: str) -> None:
        """Have no settings."""

    def queryName(self, name: str) -> "Spark":
        return self

    def option(self, name: str, value: str) -> "Spark":
        return self

    def trigger(self, processingTime: str) -> "Spark":
        return self

    def foreachBatch(self, take: Callable[[object, int], None]) -> "Spark":
        self.take = take
        return self

    def start(self) -> "Spark":
        self.isActive, self.began_in = True, self.pools[-1]
        return self

    def stop(self) -> None:
        self.isActive, self.stops = False, self.stops + 1

    def exception(self) -> Exception:
        return RuntimeError("a page of Java")

    def getLocalProperty(self, name: str) -> str | None:
        assert name == POOL
        return self.pools[-1]

    def setLocalProperty(self, name: str, value: str | None) -> None:
        self.pools.append(value)

    def batch(self) -> None:
        """Have a batch taken, and end if that fails."""
        try:
            self.take(self, 7)
        except Exception:
            self.isActive = False
            raise


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> Spark:
    monkeypatch.setattr(running, "jvm_exit_code", lambda _: None)
    monkeypatch.setattr(running, "Pauses", lambda *_: None)
    monkeypatch.setattr(running, "batch_of", lambda checkpoint, batch_id: BATCH)
    return Spark()


def begun(spark: Spark, *failures: Exception | None) -> SparkQuery:
    """Return a running query of which each batch fails as it is told."""
    left = list(failures)

    def take(frame: object, batch: SourceBatch) -> None:
        assert batch is BATCH
        if left and (failure := left.pop(0)) is not None:
            raise failure

    query = SparkQuery(spark, "lake", take, lambda error: error)  # type: ignore[arg-type]
    start(query, spark)
    return query


def start(query: SparkQuery, spark: Spark) -> None:
    query.start(spark, Path(), trigger_ms=0)  # type: ignore[arg-type]


def test_the_error_of_a_batch_is_raised_and_the_first_failure_wherever_it_was(
    spark: Spark,
) -> None:
    query = begun(spark, VerdictError("the second"))

    query.fail(UnreachableError("the first"))
    with pytest.raises(VerdictError, match="the second"):
        spark.batch()  # one that was under way

    assert spark.stops == 1
    with pytest.raises(UnreachableError, match="the first"):
        query.check()


def test_what_ends_between_batches_is_what_spark_says(spark: Spark) -> None:
    query = begun(spark)
    query.check()
    spark.isActive = False

    with pytest.raises(RuntimeError, match="a page of Java"):
        query.check()


def test_another_life_knows_of_no_failure_before_it(spark: Spark) -> None:
    query = begun(spark, VerdictError("no room"), None)
    with pytest.raises(VerdictError):
        spark.batch()
    assert (query.done, query.undone) == (0, True)

    query.stop()
    start(query, spark)
    query.check()
    assert query.undone  # until it is taken
    spark.batch()

    assert (query.done, query.undone) == (1, False)


@pytest.mark.parametrize(("jvm_exit_code", "stops"), [(None, 1), (137, 0)])
def test_one_that_was_stopped_has_not_failed_and_a_jvm_that_is_gone_is_not_asked(
    spark: Spark, monkeypatch: pytest.MonkeyPatch, jvm_exit_code: int | None, stops: int
) -> None:
    query = begun(spark)
    monkeypatch.setattr(running, "jvm_exit_code", lambda _: jvm_exit_code)

    query.stop()
    query.stop()
    query.check()

    assert spark.stops == stops


def test_it_has_a_pool_of_its_own_and_its_starter_has_not(spark: Spark) -> None:
    begun(spark)

    assert spark.began_in == "lake"
    assert spark.pools[-1] is None

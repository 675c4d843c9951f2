"""One item ahead: never more, in order, and nothing is lost or left running."""

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest
from pyspark.sql import SparkSession

from verdict.read_side.live.read_ahead import read_ahead

pytestmark = pytest.mark.spark

PATIENCE_S = 60


class Source:
    """Counts up to `end`, and can be waited for; what it gives at last is `error`."""

    def __init__(self, end: int, error: Exception | None = None) -> None:
        self.made = 0
        self._end, self._error = end, error
        self._changed = threading.Condition()

    def __iter__(self) -> Iterator[int]:
        while self.made < self._end:
            with self._changed:
                self.made += 1
                self._changed.notify_all()
            yield self.made
        if self._error is not None:
            raise self._error

    def awaits(self, made: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.made >= made, PATIENCE_S)


def test_the_next_one_is_made_while_one_is_in_use(spark: SparkSession) -> None:
    source = Source(5)
    seen = []
    for item in read_ahead(spark, iter(source)):
        source.awaits(min(item + 1, 5))  # though nobody has asked for it
        assert source.made <= item + 1
        seen.append(item)

    assert seen == [1, 2, 3, 4, 5]


def test_what_goes_wrong_is_raised_behind_what_was_made(spark: SparkSession) -> None:
    items = read_ahead(spark, iter(Source(2, OSError("gone"))))

    assert [next(items), next(items)] == [1, 2]
    with pytest.raises(OSError, match="gone"):
        next(items)


def test_nothing_runs_on_once_it_is_closed(spark: SparkSession) -> None:
    source = Source(5)
    with closing(read_ahead(spark, iter(source))) as items:
        assert next(items) == 1

    assert source.made == 2
    assert not [t for t in threading.enumerate() if t.name.startswith("reading-ahead")]


def test_its_jobs_are_of_the_pool_of_who_asks(spark: SparkSession) -> None:
    context = spark.sparkContext

    def pools() -> Iterator[str | None]:
        yield context.getLocalProperty("spark.scheduler.pool")

    context.setLocalProperty("spark.scheduler.pool", "a-pool")
    try:
        assert [*read_ahead(spark, pools())] == ["a-pool"]
    finally:
        context.setLocalProperty("spark.scheduler.pool", None)  # type: ignore[arg-type]

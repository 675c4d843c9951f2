"""What comes next is read while what came is in use."""

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from pyspark import inheritable_thread_target
from pyspark.sql import SparkSession

Item = TypeVar("Item")


def read_ahead(spark: SparkSession, items: Iterator[Item]) -> Generator[Item, None, None]:
    """Yield `items`, each made by a thread while the one before it is in use; so two are held.

    The thread's jobs are of the pool and the group of whoever asks for the first item. What it
    raises is raised here, behind the items before. Closed early, this waits for the item that is
    being made.
    """

    def step() -> Item | None:
        return next(items, None)

    as_here: Any = inheritable_thread_target(spark)
    with ThreadPoolExecutor(1, thread_name_prefix="reading-ahead") as thread:
        coming = thread.submit(as_here(step))
        while (item := coming.result()) is not None:
            coming = thread.submit(as_here(step))
            yield item

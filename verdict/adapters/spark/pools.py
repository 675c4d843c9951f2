"""Pools of Spark's scheduler, so that no query waits for the long jobs of another."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

POOL = "spark.scheduler.pool"


@contextmanager
def own_pool(spark: SparkSession, name: str) -> Iterator[None]:
    """Let nobody wait for long jobs of what begins inside: its tasks have their own share."""
    context = spark.sparkContext
    former = context.getLocalProperty(POOL)
    context.setLocalProperty(POOL, name)
    try:
        yield
    finally:
        context.setLocalProperty(POOL, former)  # type: ignore[arg-type]

"""What a burst took goes back to the machine once all is quiet, and only then."""

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from verdict.spark.heap import MOST, QUIET_S, SMALL, Heap
from verdict.spark.under_way import quiet_s, under_way

BURST = 32 * 2**20  # bytes


def committed(spark: SparkSession) -> int:
    """Return how many bytes the heap takes from the machine."""
    return int(spark._jvm.java.lang.Runtime.getRuntime().totalMemory())  # type: ignore[union-attr]


def test_what_a_burst_took_is_given_back_and_the_flags_are_what_they_were(
    spark: SparkSession,
) -> None:
    heap = Heap(spark)
    usual = heap._flag(MOST)
    gateway: Any = spark.sparkContext._gateway
    held = [gateway.new_array(gateway.jvm.long, BURST // 8) for _ in range(3)]
    burst = committed(spark)
    for array in held:
        array._detach()

    heap.give_back()

    assert committed(spark) < burst - BURST
    assert heap._flag(MOST) == usual != SMALL[MOST]


@pytest.fixture
def given_back(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> tuple[Heap, list[str]]:
    """A heap that notes when it gives back."""
    noted: list[str] = []
    monkeypatch.setattr(Heap, "give_back", lambda self: noted.append("given back"))
    return Heap(spark), noted


def test_it_gives_back_once_in_each_quiet_time(given_back: tuple[Heap, list[str]]) -> None:
    heap, noted = given_back
    look: Callable[[float], None] = heap.look

    for quiet, times in [(QUIET_S - 1, 0), (QUIET_S, 1), (QUIET_S + 60, 1), (0, 1), (QUIET_S, 2)]:
        look(quiet)
        assert len(noted) == times


def test_it_is_not_quiet_while_a_batch_is_under_way() -> None:
    with under_way("decider", 7):
        assert quiet_s() == 0
    assert quiet_s() < QUIET_S

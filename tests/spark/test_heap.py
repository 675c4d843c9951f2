"""What a burst took goes back to the machine once all is quiet, and only then."""

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from verdict.adapters.spark.heap import MOST, QUIET_S, SMALL, Heap
from verdict.streaming.queries.query import batch_under_way, quiet_s

BURST = 32 * 2**20  # bytes
PIECE = 4 * 2**20  # of one array, for which the heap needs room in one place


def committed(spark: SparkSession) -> int:
    """Return how many bytes the heap takes from the machine."""
    return int(spark._jvm.java.lang.Runtime.getRuntime().totalMemory())  # type: ignore[union-attr]


def room(spark: SparkSession) -> int:
    """Return how many bytes the heap could still take in."""
    runtime = spark._jvm.java.lang.Runtime.getRuntime()  # type: ignore[union-attr]
    return int(runtime.maxMemory() - runtime.totalMemory() + runtime.freeMemory())


def test_what_a_burst_took_is_given_back_and_the_flags_are_what_they_were(
    spark: SparkSession,
) -> None:
    heap = Heap(spark)
    usual = heap._flag(MOST)
    gateway: Any = spark.sparkContext._gateway
    held = []
    gateway.jvm.java.lang.System.gc()
    while room(spark) > 4 * BURST:  # however much other tests have left: the heap has to grow
        held.append(gateway.new_array(gateway.jvm.long, PIECE // 8))
    burst = committed(spark)
    for array in held:  # now: `_detach` leaves it to a thread that does it later
        gateway._gateway_client.garbage_collect_object(array._target_id, False)

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
    with batch_under_way("decider", 7):
        assert quiet_s() == 0
    assert quiet_s() < QUIET_S

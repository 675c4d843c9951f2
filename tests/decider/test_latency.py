"""How long commands waited, of the last minute and of those before."""

from array import array

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from verdict.settings.discovery import Latency
from verdict.write_side.processor.latency import (
    MINUTE_MS,
    MINUTES,
    MOST,
    Latencies,
    WaitedTime,
    packed_sample,
    waited_times,
)

NOW = 1_795_000_020_000  # the begin of a minute


def waited(*shards: list[int], now: int = NOW) -> list[WaitedTime]:
    """Return what the driver reads of commands that arrived at these times."""
    packed = [packed_sample(array("q", times)) for times in shards]
    return waited_times(pa.table({"arrived": pa.array([*packed, None], pa.binary())}), now)


@given(st.lists(st.integers(0, NOW), max_size=MOST))
def test_few_are_reported_one_by_one(times: list[int]) -> None:
    assert waited(times) == [WaitedTime(NOW - at, 1, NOW) for at in times]


@given(st.integers(MOST + 1, 20 * MOST))
def test_of_many_every_nth_is_reported(count: int) -> None:
    found = waited([NOW - number for number in range(count)])

    assert MOST // 2 <= len(found) <= MOST
    assert round(sum(one.weight for one in found)) == count
    times = [one.millis for one in found]
    assert times == [*range(0, count, times[1])]


def test_each_command_of_a_sample_counts_for_those_that_were_left_out() -> None:
    """No clock makes a time negative."""
    latencies = Latencies()
    latencies.note([WaitedTime(20, 49, NOW), *waited([NOW + 50] * 49, [NOW - 500, NOW - 900])], NOW)

    assert latencies.of_last_minute(NOW) == Latency(NOW, 100, 20, 500, 900)


def test_the_last_minute_is_forgotten_after_a_minute() -> None:
    latencies = Latencies()
    latencies.note(waited([NOW], now=NOW + 30), NOW + 30)

    assert latencies.of_last_minute(NOW + MINUTE_MS) is not None
    assert latencies.of_last_minute(NOW + 30 + MINUTE_MS) is None


def test_minutes_are_reported_when_they_are_over_and_each_once() -> None:
    latencies = Latencies()
    for seconds in (0, 59, 60, 61):
        at = NOW + 1000 * seconds
        assert (latencies.minutes(at) == ()) == (seconds < 60)
        latencies.note(waited([at - seconds], now=at), at)
    first = Latency(NOW, 2, 0, 59, 59)

    assert latencies.minutes(NOW + 62_000) == (first,)
    assert latencies.minutes(NOW + 62_001) == (first,)
    second = Latency(NOW + MINUTE_MS, 2, 60, 61, 61)
    assert latencies.minutes(NOW + 600_000) == (first, second)
    assert latencies.minutes(NOW + 601_000) == (first, second)


def test_no_more_than_some_hours_are_kept() -> None:
    latencies = Latencies()
    assert (latencies.of_last_minute(NOW), latencies.minutes(NOW)) == (None, ())
    for minute in range(MINUTES + 10):
        latencies.note(waited([NOW]), NOW + minute * MINUTE_MS)

    assert len(latencies.minutes(NOW + 1000 * MINUTE_MS)) == MINUTES

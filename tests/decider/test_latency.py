"""How long commands waited, of the last minute and of those before."""

from array import array

from verdict.settings.discovery import Latency
from verdict.write_side.processor.latency import HOURS, MINUTE_MS, BatchArrival, Latencies

NOW = 1_795_000_020_000  # the begin of a minute


def arrived(commands: int, *millis: int) -> BatchArrival:
    return BatchArrival(commands, array("q", millis))


def test_each_command_of_a_sample_counts_for_those_that_were_left_out() -> None:
    """Of two shards, one sent 98 of 100: its two times count most. No clock makes one negative."""
    latencies = Latencies()
    latencies.note([arrived(98, NOW + 50, NOW - 20), arrived(2, NOW - 500, NOW - 900)], NOW)

    assert latencies.of_last_minute(NOW) == Latency(NOW, 100, 20, 500, 900)


def test_the_last_minute_is_forgotten_after_a_minute() -> None:
    latencies = Latencies()
    latencies.note([arrived(1, NOW)], NOW + 30)

    assert latencies.of_last_minute(NOW + MINUTE_MS) is not None
    assert latencies.of_last_minute(NOW + 30 + MINUTE_MS) is None


def test_minutes_are_reported_when_they_are_over_and_each_once() -> None:
    latencies = Latencies()
    for seconds in (0, 59, 60, 61):
        at = NOW + 1000 * seconds
        assert (latencies.minutes(at) == ()) == (seconds < 60)
        latencies.note([arrived(1, at - seconds)], at)
    first = Latency(NOW, 2, 0, 59, 59)

    assert latencies.minutes(NOW + 62_000) == (first,)
    assert latencies.minutes(NOW + 62_001) == (first,)
    second = Latency(NOW + MINUTE_MS, 2, 60, 61, 61)
    assert latencies.minutes(NOW + 600_000) == (first, second)
    assert latencies.minutes(NOW + 601_000) == (first, second)


def test_no_more_than_some_hours_are_kept() -> None:
    latencies = Latencies()
    latencies.note([], NOW - MINUTE_MS)
    assert (latencies.of_last_minute(NOW), latencies.minutes(NOW)) == (None, ())
    for minute in range(HOURS * 60 + 10):
        latencies.note([arrived(1, NOW)], NOW + minute * MINUTE_MS)

    assert len(latencies.minutes(NOW + 1000 * MINUTE_MS)) == HOURS * 60

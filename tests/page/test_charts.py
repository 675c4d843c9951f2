"""Bars of the last hours from what either database says."""

from collections.abc import Mapping
from typing import Any

import pytest

from verdict.configuration.found import Latency
from verdict.page.charts import MINUTES, TALL, Bar, Wait, charts, waits


@pytest.mark.parametrize("between", ["T", " "])
def test_minutes_lie_behind_each_other_and_the_newest_is_last(between: str) -> None:
    rows: list[Mapping[str, Any]] = [
        {"minute": f"2026-11-24{between}08:00", "reason": None, "times": 8},
        {"minute": f"2026-11-24{between}08:03", "reason": None, "times": 2},
        {"minute": f"2026-11-24{between}08:03", "reason": "DELETED", "times": 1},
        {"minute": f"2026-11-23{between}08:03", "reason": "EXPIRED", "times": 1},  # too long ago
    ]

    until, (accepted, deleted) = charts(rows)

    assert until == "2026-11-24T08:03Z"
    assert (accepted.reason, accepted.total, accepted.most) == (None, 10, 8)
    assert accepted.bars == (Bar(MINUTES - 4, TALL, 8), Bar(MINUTES - 1, TALL / 4, 2))
    assert (deleted.reason, deleted.bars) == ("DELETED", (Bar(MINUTES - 1, TALL, 1),))


def test_where_nothing_was_answered_nothing_is_drawn() -> None:
    assert charts([]) == ("", [])


def test_waits_lie_behind_each_other_and_the_slowest_minute_is_as_tall_as_the_chart() -> None:
    first, last = Latency(60_000, 5, 20, 90, 100), Latency(180_000, 7, 30, 120, 2000)
    too_long_ago = Latency(180_000 - MINUTES * 60_000, 1, 1, 1, 1)

    shown = waits([too_long_ago, first, last])

    assert shown is not None
    assert (shown.until, shown.most_ms) == ("1970-01-01T00:03Z", 120)
    assert shown.bars == (
        Wait(MINUTES - 3, TALL / 6, TALL * 90 / 120, first),
        Wait(MINUTES - 1, TALL / 4, TALL, last),
    )
    assert waits([]) is None

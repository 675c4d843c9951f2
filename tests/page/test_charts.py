"""Bars of the last hours from what either database says."""

from collections.abc import Mapping
from typing import Any

import pytest

from verdict.page.charts import MINUTES, TALL, Bar, charts


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

"""How often what was answered, and after how long, minute by minute, as bars."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from verdict.configuration.found import Latency

MINUTES = 180
MINUTE_MS = 60_000
COUNTED = 200_000  # answers at most that a look at the rates reads
TALL = 40

RATES = f"""\
SELECT substr(CAST(decided_at AS text), 1, 16) AS minute, reason, count(*) AS times
FROM (SELECT decided_at, reason FROM outcome ORDER BY decided_at DESC LIMIT {COUNTED}) AS newest
GROUP BY 1, 2"""


class Bar(NamedTuple):
    """One minute, `x` of them after the first that is shown; `height` of `TALL`."""

    x: int
    height: float
    times: int


class Chart(NamedTuple):
    """How often one answer was given: `reason` is None for what was accepted."""

    reason: str | None
    total: int
    most: int
    bars: tuple[Bar, ...]


class Wait(NamedTuple):
    """One minute: within which time half of its commands, and 99 of 100, were answered."""

    x: int
    half: float
    nearly_all: float
    latency: Latency


class Waits(NamedTuple):
    """The minutes up to `until`; `most_ms` is the time that is `TALL`."""

    until: str
    most_ms: int
    bars: tuple[Wait, ...]


def waits(latencies: Sequence[Latency]) -> Waits | None:
    """Return a chart of how long commands waited for their answers; None where nobody knows."""
    if not latencies:
        return None
    last = latencies[-1].at
    most = max(1, *(one.p99_ms for one in latencies))
    bars = tuple(
        Wait(x, TALL * one.p50_ms / most, TALL * one.p99_ms / most, one)
        for one in latencies
        if (x := (one.at - last) // MINUTE_MS + MINUTES - 1) >= 0
    )
    return Waits(_shown(last), most, bars)


def charts(rows: Iterable[Mapping[str, Any]]) -> tuple[str, list[Chart]]:
    """Return the newest minute and, up to it, a chart of each answer: accepted first, then by name.

    Args:
        rows: What `RATES` selects.
    """
    counted = {(row["reason"], _minute(row["minute"])): row["times"] for row in rows}
    last = max((minute for _, minute in counted), default=0)
    by_reason: dict[str | None, dict[int, int]] = {}
    for (reason, minute), times in counted.items():
        if (x := minute - last + MINUTES - 1) >= 0:
            by_reason.setdefault(reason, {})[x] = times
    ordered = sorted(by_reason, key=lambda reason: (reason is not None, reason or ""))
    return _shown(last * MINUTE_MS) if last else "", [
        _chart(reason, by_reason[reason]) for reason in ordered
    ]


def _shown(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1000, UTC).strftime("%Y-%m-%dT%H:%MZ")


def _chart(reason: str | None, times: Mapping[int, int]) -> Chart:
    most = max(times.values())
    bars = tuple(Bar(x, TALL * n / most, n) for x, n in sorted(times.items()))
    return Chart(reason, sum(times.values()), most, bars)


def _minute(text: str) -> int:
    """Return the minutes since 1970 of a time as either database writes it, in UTC."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) // 60

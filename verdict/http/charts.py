"""What the charts show of the last hours, minute by minute up to now: numbers, and where none are.

What is not known is None, which leaves a gap in a line. Outcomes are counted in SQL; lag and what
was sent are what the page's own looks found, and latency is what the service says of itself.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from verdict.adapters.sql.time_text import text_of
from verdict.http.chart_samples import Sample, Samples
from verdict.operations.status.sampler import Lag

MINUTES = 180
MINUTE_MS = 60_000
COUNTED = 200_000  # outcomes at most that a look at the charts reads

OUTCOMES = f"""\
SELECT substr(CAST(decided_at AS text), 1, 16) AS minute, reason, count(*) AS times
FROM (SELECT decided_at, reason FROM outcome WHERE decided_at >= :since
ORDER BY decided_at DESC LIMIT {COUNTED}) AS newest
GROUP BY 1, 2"""

Value = float | None
Row = Mapping[str, Any]


class Series(NamedTuple):
    """One line: a value for each minute; `tone` names its colour, if it has one of its own."""

    name: str
    values: Sequence[Value]
    tone: str = ""

    @property
    def newest(self) -> Value:
        """The value of the last minute."""
        return self.values[-1]

    @property
    def greatest(self) -> Value:
        """The greatest value; None where nothing is known."""
        return max((one for one in self.values if one is not None), default=None)


class Chart(NamedTuple):
    """Lines on one scale."""

    title: str
    unit: str
    about: str
    series: Sequence[Series]


class Window:
    """The minutes that are shown; the last one is not over yet.

    Args:
        now: Epoch milliseconds.
    """

    def __init__(self, now: int) -> None:
        last = now // MINUTE_MS
        self.minutes = range(last - MINUTES + 1, last + 1)

    @property
    def since(self) -> str:
        """Return when the first minute begins, as the databases compare it."""
        return text_of(self.minutes[0] * MINUTE_MS)

    def values(self, by_minute: Mapping[int, Value], default: Value = None) -> list[Value]:
        """Return the value of each minute."""
        return [by_minute.get(minute, default) for minute in self.minutes]


def charts_of(window: Window, outcomes: Sequence[Row] | None, samples: Samples) -> list[Chart]:
    """Return all charts."""
    lag, seconds = _lags(window, samples.kept())
    return [
        *_outcomes(window, outcomes, samples.kept()),
        Chart(
            "Latency",
            "ms",
            "From a command's arrival in Kafka to the commit of its outcome: half of the commands, "
            "and 99 of 100, within this time.",
            _latency(window, samples),
        ),
        Chart("Lag", "records", "What waits for each part, in offsets of Kafka.", lag),
        Chart("Lag", "seconds", "How long the oldest of that has waited.", seconds),
    ]


def _outcomes(
    window: Window, rows: Sequence[Row] | None, samples: Sequence[Sample]
) -> tuple[Chart, Chart]:
    counted = _counted(rows or ())
    known = None if rows is None else _known_since(rows)
    of = {reason: _series(window, times, known) for reason, times in counted.items()}
    rejected = sorted(reason for reason in of if reason is not None)
    every = sum((counted[reason] for reason in rejected), Counter[int]())
    return (
        Chart(
            "Commands and outcomes",
            "per minute",
            "What was sent, and what became of it. The last minute is not over yet.",
            [
                Series("sent", window.values(_sent(samples)), "dim"),
                Series("accepted", of.get(None) or _series(window, {}, known), "green"),
                Series("rejected", _series(window, every, known), "red"),
            ],
        ),
        Chart(
            "Rejections by reason",
            "per minute",
            "The same rejections, on a scale of their own.",
            [Series(name, of[name]) for name in rejected],
        ),
    )


def _counted(rows: Iterable[Row]) -> dict[str | None, Counter[int]]:
    """Return how many outcomes each minute has, by reason; None is for the accepted."""
    found: dict[str | None, Counter[int]] = {}
    for row in rows:
        found.setdefault(row["reason"], Counter())[_minute(row["minute"])] = row["times"]
    return found


def _known_since(rows: Sequence[Row]) -> int:
    """Return the first minute that is counted as a whole: only so many outcomes are read."""
    if sum(row["times"] for row in rows) < COUNTED:
        return 0
    return 1 + min(_minute(row["minute"]) for row in rows)


def _series(window: Window, times: Mapping[int, int], known: int | None) -> list[Value]:
    if known is None:
        return window.values({})
    return [times.get(one, 0) if one >= known else None for one in window.minutes]


def _sent(samples: Sequence[Sample]) -> dict[int, Value]:
    """Return how much the ends of the topics of commands moved from one minute to the next."""
    ends = {one.at // MINUTE_MS: one.sent for one in samples}
    found: dict[int, Value] = {}
    for minute, end in ends.items():
        before = ends.get(minute - 1)
        if end is not None and before is not None and end >= before:
            found[minute] = end - before
    return found


def _latency(window: Window, samples: Samples) -> list[Series]:
    known = {at // MINUTE_MS: one for at, one in samples.latencies().items()}
    return [
        Series("half within", window.values({at: one.p50_ms for at, one in known.items()})),
        Series("99 of 100 within", window.values({at: one.p99_ms for at, one in known.items()})),
    ]


def _lags(window: Window, samples: Sequence[Sample]) -> tuple[list[Series], list[Series]]:
    """Return how far each part was behind, in records and in seconds: the most in each minute."""
    names = sorted({name for one in samples for name in one.parts})
    found: dict[str, dict[int, Lag]] = {name: {} for name in names}
    for one in samples:
        for name, part in one.parts.items():
            minutes = found[name]
            minutes[one.at // MINUTE_MS] = _worse(minutes.get(one.at // MINUTE_MS), part)
    return (
        [
            Series(name, window.values({at: one.waiting for at, one in found[name].items()}))
            for name in names
        ],
        [
            Series(name, window.values({at: one.seconds for at, one in found[name].items()}))
            for name in names
        ],
    )


def _worse(one: Lag | None, other: Lag) -> Lag:
    if one is None or (one.waiting or 0) < (other.waiting or 0):
        return other
    return one


def _minute(text: str) -> int:
    """Return the minutes since 1970 of a time as either database writes it, in UTC."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) // 60

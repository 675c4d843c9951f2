"""The page with charts of the last hours, minute by minute: commands, outcomes, latency and lag.

None is an unknown value, which leaves a gap in a line. Outcomes are counted in SQL. Lag and sent
commands are what this page has seen, and the service reports its latency itself.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from fastapi import FastAPI, Request, Response

from verdict.adapters.sql.time_text import text_of, wall_clock
from verdict.errors import VerdictError
from verdict.http.pages import Pages
from verdict.http.responses import JsonLine
from verdict.model.message import Fields
from verdict.operations.inspect.queries import rows
from verdict.operations.status.sampler import Lag, Sample, Samples, StatusSampler

MINUTES = 180
MINUTE_MS = 60_000
COUNTED = 200_000  # outcomes at most that one request reads

OUTCOMES = f"""\
SELECT substr(CAST(decided_at AS text), 1, 16) AS minute, reason, count(*) AS times
FROM (SELECT decided_at, reason FROM outcome WHERE decided_at >= :since
ORDER BY decided_at DESC LIMIT {COUNTED}) AS newest
GROUP BY 1, 2"""

Value = float | None


class Series(NamedTuple):
    """A line: a value for each minute; `tone` names its colour, if it has a fixed one."""

    name: str
    values: Sequence[Value]
    tone: str = ""

    @property
    def newest(self) -> Value:
        """The value of the last minute."""
        return self.values[-1]

    @property
    def greatest(self) -> Value:
        """The greatest value; None if all are unknown."""
        return max((one for one in self.values if one is not None), default=None)


class Chart(NamedTuple):
    """Lines on one scale."""

    title: str
    unit: str
    about: str
    series: Sequence[Series]


class Window:
    """The minutes up to `now` (epoch milliseconds); the last one is not over yet."""

    def __init__(self, now: int) -> None:
        last = now // MINUTE_MS
        self.minutes = range(last - MINUTES + 1, last + 1)

    @property
    def since(self) -> str:
        """The start of the first minute, as the databases compare it."""
        return text_of(self.minutes[0] * MINUTE_MS)

    def values(self, by_minute: Mapping[int, Value]) -> list[Value]:
        """Return the value of each minute."""
        return [by_minute.get(minute) for minute in self.minutes]


def add_charts(page: FastAPI, pages: Pages, sampler: StatusSampler, samples: Samples) -> None:
    """Add the page with charts, its part with numbers, and the numbers as JSON."""

    def charts(request: Request) -> tuple[Window, list[Chart], str]:
        """Return the charts, and why outcomes are not counted, if they are not."""
        samples.take()
        window = Window(wall_clock())
        try:
            with pages.reader(request) as reader:
                outcomes = rows(reader, OUTCOMES, since=window.since)
        except VerdictError as error:
            return window, charts_of(window, None, samples), str(error)
        return window, charts_of(window, outcomes, samples), ""

    def shown(template: str, request: Request) -> Response:
        _, found, error = charts(request)
        outcome = sampler.look().parts.get("outcome")
        values = {
            "charts": found,
            "error": error,
            "behind": None if outcome is None else outcome.waiting,
            "minutes": MINUTES,
            "counted": COUNTED,
        }
        return pages.shown(request, template, values)

    def rates(request: Request) -> Response:
        return shown("rates", request)

    def live(request: Request) -> Response:
        return shown("numbers", request)

    def data(request: Request) -> Response:
        window, found, _ = charts(request)
        times = [minute * MINUTE_MS // 1000 for minute in window.minutes]
        return JsonLine({"times": times, "charts": [_as_json(one) for one in found]})

    page.add_api_route("/rates", rates, include_in_schema=False)
    page.add_api_route("/rates/live", live, include_in_schema=False)
    page.add_api_route("/rates/data", data, include_in_schema=False)


def _as_json(chart: Chart) -> Fields:
    return chart._asdict() | {"series": [line._asdict() for line in chart.series]}


def charts_of(window: Window, outcomes: Sequence[Fields] | None, samples: Samples) -> list[Chart]:
    """Return all charts."""
    kept = samples.kept()
    latencies = {at // MINUTE_MS: one for at, one in samples.latencies().items()}
    half = window.values({at: one.p50_ms for at, one in latencies.items()})
    most = window.values({at: one.p99_ms for at, one in latencies.items()})
    return [
        *_outcomes(window, outcomes, kept),
        Chart(
            "Latency",
            "ms",
            "Time from a command's arrival in Kafka to the commit of its outcome, for half of the "
            "commands and for 99 of 100.",
            [Series("half within", half), Series("99 of 100 within", most)],
        ),
        Chart(
            "Lag",
            "records",
            "What waits for each component, in offsets of Kafka.",
            _lags(window, kept, lambda one: one.waiting),
        ),
        Chart(
            "Lag",
            "seconds",
            "How long the oldest of these has waited.",
            _lags(window, kept, lambda one: one.seconds),
        ),
    ]


def _outcomes(
    window: Window, outcomes: Sequence[Fields] | None, samples: Sequence[Sample]
) -> tuple[Chart, Chart]:
    counted: dict[str | None, Counter[int]] = {None: Counter()}  # None: accepted
    for row in outcomes or ():
        counted.setdefault(row["reason"], Counter())[_minute(row["minute"])] = row["times"]

    def values(times: Counter[int]) -> list[Value]:
        if outcomes is None:
            return window.values({})
        since = _first_whole_minute(outcomes)
        return [times[one] if one >= since else None for one in window.minutes]

    accepted = counted.pop(None)
    rejected = sum(counted.values(), Counter[int]())
    return (
        Chart(
            "Commands and outcomes",
            "per minute",
            "What was sent, and its outcome. The last minute is not over yet.",
            [
                Series("sent", window.values(_sent(samples)), "dim"),
                Series("accepted", values(accepted), "green"),
                Series("rejected", values(rejected), "red"),
            ],
        ),
        Chart(
            "Rejections by reason",
            "per minute",
            "The same rejections, on a scale of their own.",
            [Series(str(reason), values(counted[reason])) for reason in sorted(map(str, counted))],
        ),
    )


def _first_whole_minute(outcomes: Sequence[Fields]) -> int:
    """Return the first minute whose outcomes are all counted: at most `COUNTED` are read."""
    if sum(row["times"] for row in outcomes) < COUNTED:
        return 0
    return 1 + min(_minute(row["minute"]) for row in outcomes)


def _sent(samples: Sequence[Sample]) -> dict[int, Value]:
    """Return how far the ends of the commands topics moved from one minute to the next."""
    ends = {one.at // MINUTE_MS: one.sent for one in samples}
    found: dict[int, Value] = {}
    for minute, end in ends.items():
        before = ends.get(minute - 1)
        if end is not None and before is not None and end >= before:
            found[minute] = end - before
    return found


def _lags(window: Window, samples: Sequence[Sample], value: Callable[[Lag], Value]) -> list[Series]:
    """Return a line for each component, with the look of each minute that saw the greatest lag."""
    found: dict[str, dict[int, Lag]] = {}
    for one in samples:
        for name, lag in one.parts.items():
            minutes, minute = found.setdefault(name, {}), one.at // MINUTE_MS
            if minute not in minutes or (minutes[minute].waiting or 0) < (lag.waiting or 0):
                minutes[minute] = lag
    return [
        Series(name, window.values({at: value(one) for at, one in found[name].items()}))
        for name in sorted(found)
    ]


def _minute(text: str) -> int:
    """Return the minutes since 1970 of a time in UTC, as either database writes it."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) // 60

"""The page with charts of the last hours, minute by minute: commands, outcomes, latency and lag.

None is an unknown value, which leaves a gap in a line. Outcomes are counted in SQL. Lag and sent
commands are what this page has seen, and the service reports its latency itself.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from fastapi import APIRouter, Response

from verdict.adapters.sql.time_text import text_of, wall_clock
from verdict.errors import VerdictError
from verdict.http.responses import JsonLine
from verdict.http.site import Context, RequestContext
from verdict.model.message import Fields
from verdict.operations.inspect.queries import rows
from verdict.operations.status.sampler import Lag, Sample, Samples

MINUTES = 180
MINUTE_MS = 60_000
COUNTED = 200_000  # outcomes at most that one request reads

OUTCOMES = f"""\
SELECT substr(CAST(decided_at AS text), 1, 16) AS minute, reason, count(*) AS times
FROM (SELECT decided_at, reason FROM outcome WHERE decided_at >= :since
ORDER BY decided_at DESC LIMIT {COUNTED}) AS newest
GROUP BY 1, 2"""

Value = float | None
router = APIRouter(include_in_schema=False)


class Series(NamedTuple):
    """A line: a value for each minute; `tone` names its colour, if it has a fixed one."""

    name: str
    values: Sequence[Value]
    tone: str = ""

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


@router.get("/rates")
def rates(context: Context) -> Response:
    """Show the charts, and the same as a table."""
    return _show(context, "rates")


@router.get("/rates/live")
def live_rates(context: Context) -> Response:
    """Return the table, which changes."""
    return _show(context, "numbers")


@router.get("/rates/data")
def rates_data(context: Context) -> Response:
    """Return the lines of the charts as JSON."""
    minutes, charts, _ = _charts(context)
    times = [minute * MINUTE_MS // 1000 for minute in minutes]
    drawn = [one._asdict() | {"series": [line._asdict() for line in one.series]} for one in charts]
    return JsonLine({"times": times, "charts": drawn})


def _show(context: RequestContext, template: str) -> Response:
    _, charts, error = _charts(context)
    outcome = context.site.sampler.look().parts.get("outcome")
    behind = None if outcome is None else outcome.waiting
    values = {"charts": charts, "error": error, "behind": behind}
    return context.show(template, values | {"minutes": MINUTES, "counted": COUNTED})


def _charts(context: RequestContext) -> tuple[range, list[Chart], str]:
    """Return the minutes, the charts, and why outcomes are not counted, if they are not."""
    samples, minutes = context.site.samples, minutes_until(wall_clock())
    samples.take()
    try:
        with context.reader() as reader:
            outcomes = rows(reader, OUTCOMES, since=text_of(minutes[0] * MINUTE_MS))
    except VerdictError as error:
        return minutes, charts_of(minutes, None, samples), str(error)
    return minutes, charts_of(minutes, outcomes, samples), ""


def minutes_until(now: int) -> range:
    """Return the minutes to show at a time (epoch milliseconds); the last one is not over yet."""
    last = now // MINUTE_MS
    return range(last - MINUTES + 1, last + 1)


def charts_of(
    minutes: Sequence[int], outcomes: Sequence[Fields] | None, samples: Samples
) -> list[Chart]:
    """Return all charts."""
    kept = samples.kept()
    latencies = {at // MINUTE_MS: one for at, one in samples.latencies().items()}

    def line(name: str, by_minute: Mapping[int, Value], tone: str = "") -> Series:
        return Series(name, [by_minute.get(minute) for minute in minutes], tone)

    def lags(value: Callable[[Lag], Value]) -> list[Series]:
        return [
            line(name, {at: value(one) for at, one in found.items()})
            for name, found in sorted(_greatest_lags(kept).items())
        ]

    accepted, rejected, reasons = _counted(outcomes, minutes)
    return [
        Chart(
            "Commands and outcomes",
            "per minute",
            "What was sent, and its outcome. The last minute is not over yet.",
            [
                line("sent", _sent(kept), "dim"),
                line("accepted", accepted, "green"),
                line("rejected", rejected, "red"),
            ],
        ),
        Chart(
            "Rejections by reason",
            "per minute",
            "The same rejections, on a scale of their own.",
            [line(name, times) for name, times in sorted(reasons.items())],
        ),
        Chart(
            "Latency",
            "ms",
            "Time from a command's arrival in Kafka to the commit of its outcome, for half of the "
            "commands and for 99 of 100.",
            [
                line("half within", {at: one.p50_ms for at, one in latencies.items()}),
                line("99 of 100 within", {at: one.p99_ms for at, one in latencies.items()}),
            ],
        ),
        Chart(
            "Lag",
            "records",
            "What waits for each component, in offsets of Kafka.",
            lags(lambda one: one.waiting),
        ),
        Chart(
            "Lag",
            "seconds",
            "How long the oldest of these has waited.",
            lags(lambda one: one.seconds),
        ),
    ]


def _counted(
    outcomes: Sequence[Fields] | None, minutes: Sequence[int]
) -> tuple[Mapping[int, Value], Mapping[int, Value], Mapping[str, Mapping[int, Value]]]:
    """Return how many commands were accepted and rejected in each minute, and by which reason."""
    if outcomes is None:
        return {}, {}, {}
    counted: defaultdict[str | None, Counter[int]] = defaultdict(Counter)
    for row in outcomes:
        counted[row["reason"]][_minute(row["minute"])] = row["times"]
    since = 0
    if sum(row["times"] for row in outcomes) >= COUNTED:  # not all of the first minute were read
        since = 1 + min(_minute(row["minute"]) for row in outcomes)
    whole = [minute for minute in minutes if minute >= since]

    def every(times: Counter[int]) -> Mapping[int, Value]:
        return {minute: times[minute] for minute in whole}

    accepted = every(counted.pop(None, Counter()))
    rejected = every(sum(counted.values(), Counter()))
    return accepted, rejected, {str(reason): every(times) for reason, times in counted.items()}


def _sent(samples: Sequence[Sample]) -> dict[int, Value]:
    """Return how far the ends of the commands topics moved from one minute to the next."""
    ends = {one.at // MINUTE_MS: one.sent for one in samples}
    found: dict[int, Value] = {}
    for minute, end in ends.items():
        before = ends.get(minute - 1)
        if end is not None and before is not None and end >= before:
            found[minute] = end - before
    return found


def _greatest_lags(samples: Sequence[Sample]) -> dict[str, dict[int, Lag]]:
    """Return for each component the sample of each minute with the greatest lag."""
    found: defaultdict[str, dict[int, Lag]] = defaultdict(dict)
    for one in samples:
        minute = one.at // MINUTE_MS
        for name, lag in one.parts.items():
            seen = found[name].get(minute)
            if seen is None or (seen.waiting or 0) < (lag.waiting or 0):
                found[name][minute] = lag
    return found


def _minute(text: str) -> int:
    """Return the minutes since 1970 of a time in UTC, as either database writes it."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) // 60

"""Lines of the last hours up to now, from what either database says and what looks found."""

from dataclasses import replace
from typing import Any

import pytest

from tests.http.conftest import standing
from verdict.http.charts import COUNTED, MINUTES, Chart, charts_of, minutes_until
from verdict.model.message import epoch_millis
from verdict.operations.status.sampler import KEPT_MS, Samples, StatusSampler
from verdict.operations.status.status import StatusReport
from verdict.settings.discovery import Latency

DAY = "2026-11-18"
NOW = epoch_millis(f"{DAY}T13:06:20Z")


class Sampled:
    """Samples of what is found, minute after minute."""

    def __init__(self) -> None:
        self.now, self._found = NOW, standing()
        watch = StatusSampler(lambda: self._found, lambda: self.now / 1000)
        self.samples = Samples(watch.look, lambda: self.now)

    def take(self, found: StatusReport, minutes: float = 0) -> None:
        self.now += round(minutes * 60_000)
        self._found = found
        self.samples.take()

    def charts(self, rows: list[dict[str, Any]] | None = None) -> dict[str, Chart]:
        return {
            f"{one.title}, {one.unit}": one
            for one in charts_of(minutes_until(self.now), rows, self.samples)
        }


def lines(chart: Chart, last: int) -> dict[str, list[float | None]]:
    """Return the last values of each line."""
    return {one.name: [*one.values[-last:]] for one in chart.series}


@pytest.mark.parametrize("between", ["T", " "])
def test_the_last_minute_is_now_and_a_minute_without_outcomes_has_none(between: str) -> None:
    at = DAY + between
    rows: list[dict[str, Any]] = [
        {"minute": f"{at}13:04", "reason": None, "times": 8},
        {"minute": f"{at}13:04", "reason": "DELETED", "times": 1},
        {"minute": f"{at}13:05", "reason": "EXPIRED", "times": 2},
    ]
    charts = Sampled().charts(rows)  # 13:06 by its clock

    assert lines(charts["Commands and outcomes, per minute"], 4) == {
        "sent": [None, None, None, None], "accepted": [0, 8, 0, 0], "rejected": [0, 1, 2, 0],
    }  # fmt: skip
    reasons = lines(charts["Rejections by reason, per minute"], 3)
    assert reasons == {"DELETED": [1, 0, 0], "EXPIRED": [0, 2, 0]}
    assert {len(one.values) for chart in charts.values() for one in chart.series} == {MINUTES}


def test_outcomes_that_were_not_counted_leave_a_gap() -> None:
    since = DAY
    rows: list[dict[str, Any]] = [
        {"minute": f"{since}T13:04", "reason": None, "times": COUNTED - 5},
        {"minute": f"{since}T13:05", "reason": None, "times": 5},
    ]
    accepted = Sampled().charts(rows)["Commands and outcomes, per minute"].series[1]
    unknown = Sampled().charts(None)["Commands and outcomes, per minute"].series[1]

    assert accepted.values[-4:] == [None, None, 5, 0]
    assert {*unknown.values} == {None}


def test_a_minute_without_a_sample_is_a_gap_and_of_others_the_highest_is_shown() -> None:
    sampled = Sampled()
    sampled.take(standing(end=10, decided=10))
    sampled.take(standing(end=25, decided=10), minutes=1)
    sampled.take(standing(end=25, decided=20), minutes=0.5)
    sampled.take(standing(end=90, decided=90), minutes=2)
    charts = sampled.charts()

    assert lines(charts["Lag, records"], 4)["decider"] == [0, 15, None, 0]
    assert lines(charts["Lag, seconds"], 4)["decider"] == [0, 60, None, 0]
    assert lines(charts["Commands and outcomes, per minute"], 4)["sent"] == [None, 15, None, None]


def test_latency_of_a_service_before_is_kept_as_long_as_it_is_shown() -> None:
    sampled, found = Sampled(), standing()
    assert found.service is not None
    latency = Latency(NOW - 20_000, 5, 20, 90, 100)
    for latencies, minutes in (((latency,), 0.5), ((), 1)):
        service = replace(found.service, latencies=latencies)
        sampled.take(replace(found, service=service), minutes)

    shown = lines(sampled.charts()["Latency, ms"], 2)
    assert shown == {"half within": [20, None], "99 of 100 within": [90, None]}
    sampled.take(found, minutes=KEPT_MS / 60_000 + 2)
    assert len(sampled.samples.kept()) == 1
    assert NOW - 20_000 not in sampled.samples.latencies()

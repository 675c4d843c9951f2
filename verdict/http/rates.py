"""The page with charts: how much was sent and decided, how fast, and how far each part is."""

from typing import Any

from fastapi import FastAPI, Request, Response

from verdict.adapters.sql.time_text import wall_clock
from verdict.errors import VerdictError
from verdict.http.answers import JsonAnswer
from verdict.http.chart_samples import Samples
from verdict.http.charts import COUNTED, MINUTE_MS, MINUTES, OUTCOMES, Chart, Window, charts_of
from verdict.http.pages import Pages
from verdict.operations.inspect.queries import rows
from verdict.operations.status.sampler import StatusSampler

HERE = "/rates"


def add_rates(page: FastAPI, pages: Pages, watch: StatusSampler, samples: Samples) -> None:
    """Let people see charts."""

    def found(request: Request) -> tuple[Window, list[Chart], str]:
        """Return the charts, and why outcomes are not counted, if they are not."""
        samples.take()
        window = Window(wall_clock())
        try:
            with pages.reader(request) as reader:
                outcomes = rows(reader, OUTCOMES, since=window.since)
        except VerdictError as error:
            return window, charts_of(window, None, samples), str(error)
        return window, charts_of(window, outcomes, samples), ""

    def told(request: Request) -> dict[str, Any]:
        _, charts, error = found(request)
        outcome = watch.look().parts.get("outcome")
        return {
            "charts": charts,
            "error": error,
            "behind": None if outcome is None else outcome.waiting,
            "minutes": MINUTES,
            "counted": COUNTED,
        }

    def rates(request: Request) -> Response:
        return pages.shown(request, "rates", told(request))

    def live(request: Request) -> Response:
        return pages.shown(request, "numbers", told(request))

    def data(request: Request) -> Response:
        window, charts, _ = found(request)
        return JsonAnswer(
            {
                "times": [minute * MINUTE_MS // 1000 for minute in window.minutes],
                "charts": [
                    one._asdict() | {"series": [line._asdict() for line in one.series]}
                    for one in charts
                ],
            }
        )

    page.add_api_route(HERE, rates, include_in_schema=False)
    page.add_api_route(f"{HERE}/live", live, include_in_schema=False)
    page.add_api_route(f"{HERE}/data", data, include_in_schema=False)

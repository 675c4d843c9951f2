"""The page as one application of FastAPI: what a request meets first, and what answers it."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path

from fastapi import FastAPI, Request, Response
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.requests import ClientDisconnect

from verdict.http.answers import JsonAnswer
from verdict.http.asyncapi import asyncapi
from verdict.http.audit import add_audit
from verdict.http.auth import guarded
from verdict.http.bodies import DeploymentStatus, Live, Ready
from verdict.http.chart_samples import Samples, keep_sampling
from verdict.http.commands import Commands, add_commands
from verdict.http.failures import add_failures
from verdict.http.lists import add_lists
from verdict.http.metrics import Standings
from verdict.http.openapi import described_as_json
from verdict.http.pages import Pages, add_pages
from verdict.http.problem import NotLive, NotReady, problem, problems
from verdict.http.rates import add_rates
from verdict.http.registry import add_registry
from verdict.http.repair import add_waiting
from verdict.http.rest import add_rest
from verdict.http.search import add_search
from verdict.http.sse import add_feeds
from verdict.http.topics import add_topics
from verdict.operations.status.collect import get_status
from verdict.operations.status.patience import Patience
from verdict.operations.status.problems import SILENT_S
from verdict.operations.status.sampler import StatusSampler
from verdict.operations.status.status import StatusReport, as_json
from verdict.settings.discovery import silence_s
from verdict.settings.settings import Settings

HEALTH, DOCUMENTS = "health", "documents"


class Metrics(Response):
    """Samples in the text format of Prometheus."""

    media_type = CONTENT_TYPE_PLAIN_0_0_4


class Yaml(Response):
    """A document that is YAML."""

    media_type = "application/yaml"


def page_of(
    settings: Settings, look: Callable[[], StatusReport] | None = None, beside: bool = False
) -> FastAPI:
    """Return the page of a deployment."""
    commands = Commands(settings)
    watch = StatusSampler(look or partial(get_status, settings, Patience()))
    samples = Samples(watch.look)

    page = FastAPI(
        title=settings.application.name,
        openapi_url=None,  # described when somebody asks
        lifespan=partial(_open, commands, samples),
        default_response_class=JsonAnswer,
        responses=problems(403, 421),
    )
    page.state.stopping = threading.Event()
    page.middleware("http")(partial(guarded, names=settings.allowed_hosts))
    _add_health(page, watch, settings.data_dir if beside else None)
    add_rest(page, settings)
    add_feeds(page, settings)
    add_registry(page, settings)
    add_commands(page, commands)
    pages = add_pages(page, settings, watch)
    _add_browsing(page, settings, pages, watch)
    add_rates(page, pages, watch, samples)
    add_waiting(page, settings, pages)
    add_topics(page, settings, pages)
    described_once = cache(partial(described_as_json, page, settings))
    page.add_api_route(
        "/openapi.json",
        lambda: Response(described_once(), media_type="application/json"),
        include_in_schema=False,
    )
    page.add_api_route(
        "/asyncapi.yaml",
        lambda: Yaml(asyncapi(settings.topics)),
        response_class=Yaml,
        operation_id="get_asyncapi",
        tags=[DOCUMENTS],
        responses={200: {"content": {Yaml.media_type: {"schema": {"type": "object"}}}}},
        summary="All topics, their settings and what is on them, as AsyncAPI 3.0.",
    )
    add_failures(page, pages)
    page.exception_handler(ClientDisconnect)(_left)
    return page


@asynccontextmanager
async def _open(commands: Commands, samples: Samples, page: FastAPI) -> AsyncIterator[None]:
    """Take samples for the charts, and keep what sends commands, while the page is served."""
    sampling = asyncio.create_task(keep_sampling(samples))
    async with commands.open(page):
        yield
    sampling.cancel()


def _add_browsing(page: FastAPI, settings: Settings, pages: Pages, watch: StatusSampler) -> None:
    add_lists(page, settings, pages)
    add_audit(page, pages)
    add_search(page, settings, pages, watch)


def _add_health(page: FastAPI, watch: StatusSampler, ours: Path | None) -> None:
    registry = CollectorRegistry()
    registry.register(Standings(watch.look))
    ProcessCollector(registry=registry)

    @page.get(
        "/livez",
        summary="Whether this process lives; 503 when its service hangs.",
        operation_id="get_liveness",
        tags=[HEALTH],
        response_model=Live,
        responses=problems(503, model=NotLive),
    )
    async def livez() -> Response:  # waits for no thread of those who ask the database
        silent = 0.0 if ours is None else silence_s(ours)
        answer = {"live": silent <= SILENT_S, "silent_s": round(silent, 1)}
        if answer["live"]:
            return JsonAnswer(answer)
        said = f"the service of this process gives no sign of life since {silent:.0f} s: restart it"
        return problem(503, said, members=answer)

    @page.get(
        "/readyz",
        summary="Whether commands are decided; 503 and why, if not.",
        operation_id="get_readiness",
        tags=[HEALTH],
        response_model=Ready,
        responses=problems(503, model=NotReady),
    )
    def readyz() -> Response:
        why = watch.look().unready
        answer = {"ready": not why, "why": why}
        return problem(503, "; ".join(why), members=answer) if why else JsonAnswer(answer)

    @page.get(
        "/metrics",
        summary="For Prometheus.",
        operation_id="get_metrics",
        tags=[HEALTH],
        response_class=Metrics,
    )
    def metrics() -> Response:
        return Metrics(generate_latest(registry))

    @page.get(
        "/status",
        summary="All that is known, as `verdict status --json`.",
        operation_id="get_status",
        tags=[HEALTH],
        response_model=DeploymentStatus,
    )
    def status() -> Response:
        look = watch.look()
        about = {"colour": look.colour, "problems": look.problems}
        return JsonAnswer(as_json(look.standing) | about)


async def _left(request: Request, error: Exception) -> Response:
    """Log no error of ours when a client goes away before it has sent its whole request."""
    return Response(status_code=400)

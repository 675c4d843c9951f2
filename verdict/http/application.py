"""The page as one application of FastAPI: its routes, health, and a response to each error."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match

from verdict.adapters.sql.readers.reader import NotAllowedError
from verdict.errors import UnreachableError, VerdictError
from verdict.http.auth import TokenRequiredError, guarded, is_browser
from verdict.http.bodies import DeploymentStatus, Live, Ready
from verdict.http.charts import add_charts
from verdict.http.commands import Commands, add_commands
from verdict.http.lists import add_audit, add_lists
from verdict.http.metrics import StatusCollector
from verdict.http.openapi import described_as_json
from verdict.http.pages import Pages, add_pages
from verdict.http.registry import add_registry, is_of_registry, registry_error
from verdict.http.repair import add_repair
from verdict.http.responses import JsonLine, NotLive, NotReady, error_type, problem, problems
from verdict.http.rest import add_rest
from verdict.http.search import add_search
from verdict.http.sse import TooManyFeedsError, add_feeds
from verdict.http.topics import add_topics
from verdict.operations.inspect.aggregate import NotFoundError
from verdict.operations.repair.dead_letters import NoLetterError
from verdict.operations.repair.operator import NothingWaitsError
from verdict.operations.status.collect import get_status
from verdict.operations.status.database_timeout import DatabaseTimeout
from verdict.operations.status.problems import SILENT_S
from verdict.operations.status.sampler import Samples, StatusSampler
from verdict.operations.status.status import StatusReport, as_json
from verdict.settings.discovery import silence_s
from verdict.settings.settings import Settings

HEALTH = "health"
EVERY_S = 30.0  # a sample for the charts
LOG = logging.getLogger("verdict.http")
FAILED: Mapping[type[VerdictError], int] = {  # error → status
    UnreachableError: 503, NotAllowedError: 403, NotFoundError: 404, NothingWaitsError: 404,
    NoLetterError: 404, TokenRequiredError: 401, TooManyFeedsError: 503,
}  # fmt: skip
OTHER_ERROR = 400
CHALLENGE = {"www-authenticate": "Bearer"}


class MetricsText(Response):
    """Samples in the text format of Prometheus."""

    media_type = CONTENT_TYPE_PLAIN_0_0_4


def page_of(
    settings: Settings, look: Callable[[], StatusReport] | None = None, with_service: bool = False
) -> FastAPI:
    """Return the page of a deployment; `with_service`: its service runs in this process."""
    commands = Commands(settings)
    sampler = StatusSampler(look or partial(get_status, settings, DatabaseTimeout()))
    samples = Samples(sampler.look)
    page = FastAPI(
        title=settings.application.name,
        openapi_url=None,  # described at the first request
        lifespan=partial(_lifespan, commands, samples),
        default_response_class=JsonLine,
        responses=problems(403, 421),
    )
    page.state.stopping = threading.Event()
    page.middleware("http")(partial(guarded, names=settings.allowed_hosts))
    _add_health(page, sampler, settings.data_dir if with_service else None)
    add_rest(page, settings)
    add_feeds(page, settings)
    add_registry(page, settings)
    add_commands(page, commands)
    pages = add_pages(page, settings, sampler)
    add_lists(page, settings, pages)
    add_audit(page, pages)
    add_search(page, settings, pages, sampler)
    add_charts(page, pages, sampler, samples)
    add_repair(page, settings, pages)
    add_topics(page, settings, pages)
    described_once = cache(partial(described_as_json, page, settings))
    page.add_api_route(
        "/openapi.json",
        lambda: Response(described_once(), media_type="application/json"),
        include_in_schema=False,
    )
    _add_failures(page, pages)
    return page


@asynccontextmanager
async def _lifespan(commands: Commands, samples: Samples, page: FastAPI) -> AsyncIterator[None]:
    """Take samples for the charts while the page is served, and close the client at its end."""
    sampling = asyncio.create_task(_keep_sampling(samples))
    yield
    await commands.close()
    sampling.cancel()


async def _keep_sampling(samples: Samples) -> None:
    """Take samples until this is cancelled; one that fails leaves a gap."""
    while True:
        await asyncio.sleep(EVERY_S)
        try:
            await run_in_threadpool(samples.take)
        except VerdictError as error:
            LOG.debug("no sample for the charts: %s", error)  # every page shows it, too


def _add_health(page: FastAPI, sampler: StatusSampler, service_dir: Path | None) -> None:
    registry = CollectorRegistry()
    registry.register(StatusCollector(sampler.look))
    ProcessCollector(registry=registry)

    @page.get(
        "/livez",
        summary="Whether this process lives; 503 when its service hangs.",
        operation_id="get_liveness",
        tags=[HEALTH],
        response_model=Live,
        responses=problems(503, model=NotLive),
    )
    async def livez() -> Response:  # it needs none of the threads that wait for the database
        silent = 0.0 if service_dir is None else silence_s(service_dir)
        answer = {"live": silent <= SILENT_S, "silent_s": round(silent, 1)}
        if answer["live"]:
            return JsonLine(answer)
        detail = f"the service of this process has not responded for {silent:.0f} s: restart it"
        return problem(503, detail, members=answer)

    @page.get(
        "/readyz",
        summary="Whether commands are decided; 503 and why, if not.",
        operation_id="get_readiness",
        tags=[HEALTH],
        response_model=Ready,
        responses=problems(503, model=NotReady),
    )
    def readyz() -> Response:
        why = sampler.look().unready
        answer = {"ready": not why, "why": why}
        return problem(503, "; ".join(why), members=answer) if why else JsonLine(answer)

    @page.get(
        "/metrics",
        summary="For Prometheus.",
        operation_id="get_metrics",
        tags=[HEALTH],
        response_class=MetricsText,
    )
    def metrics() -> Response:
        return MetricsText(generate_latest(registry))

    @page.get(
        "/status",
        summary="The whole status, as `verdict status --json`.",
        operation_id="get_status",
        tags=[HEALTH],
        response_model=DeploymentStatus,
    )
    def status() -> Response:
        look = sampler.look()
        about = {"colour": look.colour, "problems": look.problems}
        return JsonLine(as_json(look.standing) | about)


def _add_failures(page: FastAPI, pages: Pages) -> None:
    """Respond to each error: with a page, a problem, or an error of a schema registry."""
    handlers = {
        VerdictError: _verdict_error,
        RequestValidationError: _validation_error,
        HTTPException: _http_error,
        Exception: _bug,
    }
    for kind, handler in handlers.items():
        page.exception_handler(kind)(partial(handler, pages))
    # not our error: a client left before it had sent its whole request
    page.exception_handler(ClientDisconnect)(lambda request, error: Response(status_code=400))


async def _verdict_error(pages: Pages, request: Request, error: Exception) -> Response:
    status = next((code for kind, code in FAILED.items() if isinstance(error, kind)), OTHER_ERROR)
    headers = CHALLENGE if status == 401 else None
    return _answer(pages, request, status, str(error), type=error_type(error), headers=headers)


async def _validation_error(pages: Pages, request: Request, error: Any) -> Response:
    detail = "; ".join(f"{one['loc'][-1]}: {one['msg']}" for one in error.errors())
    wrong = [{name: one[name] for name in ("loc", "msg", "type")} for one in error.errors()]
    return _answer(pages, request, 422, detail, members={"errors": wrong})


async def _http_error(pages: Pages, request: Request, error: Any) -> Response:
    detail = f"{request.method} {request.url.path}: {error.detail}; see /openapi.json"
    headers = error.headers
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        headers = {"allow": ", ".join(sorted(_methods(request)))}
    return _answer(pages, request, error.status_code, detail, headers=headers)


def _methods(request: Request) -> set[str]:
    """Return all methods of a path: Starlette names those of its first route only."""
    matching = (one for one in request.app.routes if one.matches(request.scope)[0] != Match.NONE)
    return {method for route in matching for method in getattr(route, "methods", None) or ()}


async def _bug(pages: Pages, request: Request, error: Exception) -> Response:
    return _answer(pages, request, 500, f"{type(error).__name__}: see the log of the page")


def _answer(pages: Pages, request: Request, status: int, detail: str, **how: Any) -> Response:
    if is_browser(request):
        answer = pages.shown(request, "error", {"error": detail}, status)
    elif is_of_registry(request):
        answer = registry_error(status, detail)
    else:
        return problem(status, detail, **how)
    answer.headers.update(how.get("headers") or {})
    return answer

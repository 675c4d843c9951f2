"""The page as one application of FastAPI: its routes, health, and a response to each error."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.staticfiles import StaticFiles

from verdict.adapters.sql.readers.reader import NotAllowedError
from verdict.errors import UnreachableError, VerdictError
from verdict.http import (
    audit,
    charts,
    commands,
    lists,
    pages,
    registry,
    repair,
    rest,
    search,
    sse,
    topics,
)
from verdict.http.auth import TokenRequiredError, guarded
from verdict.http.bodies import Live, Ready
from verdict.http.metrics import StatusCollector
from verdict.http.openapi import described_as_json
from verdict.http.responses import JsonLine, error_type, problem, problems
from verdict.http.site import BodyTooLongError, Context, RequestContext, Site
from verdict.model.message import JsonObject
from verdict.operations.inspect.aggregate import NotFoundError
from verdict.operations.repair.operator import NothingWaitsError
from verdict.operations.status.collect import get_status
from verdict.operations.status.database_timeout import DatabaseTimeout
from verdict.operations.status.problems import SILENT_S
from verdict.operations.status.sampler import Samples, StatusSampler
from verdict.operations.status.status import StatusReport, as_json
from verdict.settings.discovery import silence_s
from verdict.settings.settings import Settings

EVERY_S = 30.0  # a sample for the charts
LOG = logging.getLogger("verdict.http")
FAILED: Mapping[type[VerdictError], int] = {  # error → status
    UnreachableError: 503, NotAllowedError: 403, NotFoundError: 404, NothingWaitsError: 404,
    TokenRequiredError: 401, BodyTooLongError: 413, sse.TooManyFeedsError: 503,
}  # fmt: skip
OTHER_ERROR = 400
health = APIRouter(tags=["health"])


class MetricsText(Response):
    """Samples in the text format of Prometheus."""

    media_type = CONTENT_TYPE_PLAIN_0_0_4


def page_of(
    settings: Settings, look: Callable[[], StatusReport] | None = None, with_service: bool = False
) -> FastAPI:
    """Return the page of a deployment; `with_service`: its service runs in this process."""
    site = Site(settings, StatusSampler(look or partial(get_status, settings, DatabaseTimeout())))
    page = FastAPI(
        title=settings.application.name,
        openapi_url=None,  # described at the first request
        lifespan=_lifespan,
        default_response_class=JsonLine,
        generate_unique_id_function=lambda route: route.name,
        responses=problems(403, 421),
    )
    page.state.site = site
    page.state.sender = commands.CommandSender(settings)
    page.state.streams = sse.Streams()
    page.state.service_dir = settings.data_dir if with_service else None
    page.state.metrics = CollectorRegistry()
    page.state.metrics.register(StatusCollector(site.sampler.look))
    ProcessCollector(registry=page.state.metrics)
    page.middleware("http")(partial(guarded, names=settings.allowed_hosts))
    page.mount("/static", StaticFiles(packages=[("verdict.http", "static")]))
    page.include_router(health)
    for module in (
        rest, sse, commands, registry, topics, pages, lists, audit, search, charts, repair,
    ):  # fmt: skip
        page.include_router(module.router)
    described_once = cache(partial(described_as_json, page, settings))
    page.add_api_route(
        "/openapi.json",
        lambda: Response(described_once(), media_type="application/json"),
        include_in_schema=False,
    )
    _add_failures(page)
    return page


@asynccontextmanager
async def _lifespan(page: FastAPI) -> AsyncIterator[None]:
    """Take samples for the charts while the page is served, and close the client at its end."""
    sampling = asyncio.create_task(_keep_sampling(page.state.site.samples))
    yield
    await page.state.sender.close()
    sampling.cancel()


async def _keep_sampling(samples: Samples) -> None:
    """Take samples until this is cancelled; one that fails leaves a gap."""
    while True:
        await asyncio.sleep(EVERY_S)
        try:
            await run_in_threadpool(samples.take)
        except VerdictError as error:
            LOG.debug("no sample for the charts: %s", error)  # every page shows it, too


@health.get("/livez", response_model=Live, responses=problems(503))
async def get_liveness(request: Request) -> Response:
    """Return whether this process lives; 503 when its service hangs."""
    service_dir: Path | None = request.app.state.service_dir
    silent = 0.0 if service_dir is None else silence_s(service_dir)
    answer = {"live": silent <= SILENT_S, "silent_s": round(silent, 1)}
    if answer["live"]:
        return JsonLine(answer)
    detail = f"the service of this process has not responded for {silent:.0f} s: restart it"
    return problem(503, detail, members=answer)


@health.get("/readyz", response_model=Ready, responses=problems(503))
def get_readiness(context: Context) -> Response:
    """Return whether commands are decided; 503 and why, if not."""
    why = context.site.sampler.look().unready
    answer = {"ready": not why, "why": why}
    return problem(503, "; ".join(why), members=answer) if why else JsonLine(answer)


@health.get("/metrics", response_class=MetricsText)
def get_metrics(request: Request) -> Response:
    """Return the metrics for Prometheus."""
    return MetricsText(generate_latest(request.app.state.metrics))


@health.get("/status", response_model=JsonObject, operation_id="get_status")
def report(context: Context) -> Response:
    """Return the whole status, as `verdict status --json`."""
    look = context.site.sampler.look()
    about = {"colour": look.colour, "problems": look.problems}
    return JsonLine(as_json(look.standing) | about)


def _add_failures(page: FastAPI) -> None:
    """Respond to each error: with a page, a problem, or an error of a schema registry."""
    handlers: Mapping[type[Exception], Callable[..., Any]] = {
        VerdictError: _verdict_error,
        RequestValidationError: _validation_error,
        registry.RegistryError: registry.registry_error,
        HTTPException: _http_error,
        Exception: _bug,
        # not our error: a client left before it had sent its whole request
        ClientDisconnect: lambda request, error: Response(status_code=400),
    }
    for kind, handler in handlers.items():
        page.exception_handler(kind)(handler)


async def _verdict_error(request: Request, error: VerdictError) -> Response:
    status = next((code for kind, code in FAILED.items() if isinstance(error, kind)), OTHER_ERROR)
    headers = {"www-authenticate": "Bearer"} if status == 401 else None
    return _answer(request, status, str(error), type=error_type(error), headers=headers)


async def _validation_error(request: Request, error: RequestValidationError) -> Response:
    detail = "; ".join(f"{one['loc'][-1]}: {one['msg']}" for one in error.errors())
    wrong = [{name: one[name] for name in ("loc", "msg", "type")} for one in error.errors()]
    return _answer(request, 422, detail, members={"errors": wrong})


async def _http_error(request: Request, error: HTTPException) -> Response:
    detail = f"{request.method} {request.url.path}: {error.detail}; see /openapi.json"
    return _answer(request, error.status_code, detail, headers=error.headers)


async def _bug(request: Request, error: Exception) -> Response:
    return _answer(request, 500, f"{type(error).__name__}: see the log of the page")


def _answer(request: Request, status: int, detail: str, **how: Any) -> Response:
    if "text/html" not in request.headers.get("accept", ""):
        return problem(status, detail, **how)
    answer = RequestContext(request).show("error", {"error": detail}, status)
    answer.headers.update(how.get("headers") or {})
    return answer

"""The page as one application of FastAPI: what a request meets first, and what answers it."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exception_handlers import (
    http_exception_handler,
    request_validation_exception_handler,
)
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from verdict.application import current
from verdict.configuration.found import silent_s
from verdict.configuration.settings import Settings
from verdict.errors import Unreachable, VerdictError
from verdict.page.answers import Json, failed
from verdict.page.asyncapi import asyncapi
from verdict.page.commands import Commands, add_commands, describe_commands
from verdict.page.door import NeedsToken, guarded
from verdict.page.feeds import add_feeds
from verdict.page.health import colour, unready
from verdict.page.jobs import Jobs
from verdict.page.life import NotThere
from verdict.page.metrics import Standings
from verdict.page.pages import Pages, add_pages
from verdict.page.read_models import add_read_models
from verdict.page.registry import add_registry
from verdict.page.rest import add_rest
from verdict.page.topics import add_topics
from verdict.page.waiting import add_waiting
from verdict.page.watch import Watch
from verdict.reading.reader import NotForReaders
from verdict.standing.asking import standing_of
from verdict.standing.facts import Standing, as_json
from verdict.standing.patience import Patience
from verdict.standing.told import SILENT_S
from verdict.unhandled.kind import NothingWaits

FAILED: Mapping[type[VerdictError], int] = {  # which status says so
    Unreachable: 503, NotForReaders: 403, NotThere: 404, NothingWaits: 404, NeedsToken: 401,
}  # fmt: skip
MISASKED = 400  # all other errors


def page_of(
    settings: Settings, look: Callable[[], Standing] | None = None, beside: bool = False
) -> FastAPI:
    """Return the page of a deployment.

    Args:
        settings: Of the deployment.
        look: Returns how far everything has come; default: as `verdict status` finds it.
        beside: Whether the service runs in this process.
    """
    commands, jobs = Commands(settings), Jobs(settings)

    @asynccontextmanager
    async def open_page(page: FastAPI) -> AsyncIterator[None]:
        async with commands.open(page):
            yield
        await run_in_threadpool(jobs.stop)

    page = FastAPI(
        title=current().name,
        openapi_url=None,  # described when somebody asks
        lifespan=open_page,
        default_response_class=Json,
    )
    page.middleware("http")(partial(guarded, names=settings.page_names))
    watch = Watch(look or partial(standing_of, settings, Patience()))
    _add_health(page, watch, settings.data_dir if beside else None)
    add_rest(page, settings)
    add_feeds(page, settings)
    add_registry(page, settings)
    add_commands(page, commands)
    pages = add_pages(page, settings, watch)
    add_waiting(page, settings, pages)
    add_topics(page, settings, pages)
    add_read_models(page, settings, watch, pages, jobs)
    page.add_api_route("/openapi.json", lambda: described(page), include_in_schema=False)
    page.add_api_route(
        "/asyncapi.yaml",
        lambda: Response(asyncapi(settings.topics), media_type="application/yaml"),
        summary="All topics, their settings and what is on them, as AsyncAPI 3.0.",
    )
    page.exception_handler(VerdictError)(partial(_failed, pages))
    page.exception_handler(RequestValidationError)(partial(_misasked, pages))
    page.exception_handler(HTTPException)(partial(_not_found, pages))
    page.exception_handler(ClientDisconnect)(_left)
    return page


def described(page: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI of what programs may ask and send, commands by their own classes."""
    document = get_openapi(title=page.title, version=version("verdict-cqrs"), routes=page.routes)
    describe_commands(document)
    return document


def _add_health(page: FastAPI, watch: Watch, ours: Path | None) -> None:
    registry = CollectorRegistry()
    registry.register(Standings(watch.look))
    ProcessCollector(registry=registry)

    @page.get("/livez", summary="Whether this process lives; 503 when its service hangs.")
    async def livez() -> Any:  # waits for no thread of those who ask the database
        silent = 0.0 if ours is None else silent_s(ours)
        answer = {"live": silent <= SILENT_S, "silent_s": round(silent, 1)}
        return Json(answer, 200 if answer["live"] else 503)

    @page.get("/readyz", summary="Whether commands are decided; 503 and why, if not.")
    def readyz() -> Any:
        why = [*unready(watch.look())]
        return Json({"ready": not why, "why": why}, 503 if why else 200)

    @page.get("/metrics", summary="For Prometheus.")
    def metrics() -> Any:
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_PLAIN_0_0_4)

    @page.get("/status", summary="All that is known, as `verdict status --json`.")
    def status() -> Any:
        look = watch.look()
        return as_json(look.standing) | {"colour": colour(look), "complaints": look.complaints}


async def _failed(pages: Pages, request: Request, error: Exception) -> Response:
    """Say what happened: to a browser on a page, to programs as JSON."""
    status = next((code for kind, code in FAILED.items() if isinstance(error, kind)), MISASKED)
    if is_browser(request):
        return pages.shown(request, "error", {"error": str(error)}, status)
    return Json(failed(error), status)


async def _misasked(pages: Pages, request: Request, error: Any) -> Response:
    if not is_browser(request):
        return await request_validation_exception_handler(request, error)
    said = "; ".join(f"{one['loc'][-1]}: {one['msg']}" for one in error.errors())
    return pages.shown(request, "error", {"error": said}, 422)


async def _not_found(pages: Pages, request: Request, error: Any) -> Response:
    if not is_browser(request):
        return await http_exception_handler(request, error)
    said = f"{request.method} {request.url.path}: {error.detail}"
    return pages.shown(request, "error", {"error": said}, error.status_code)


async def _left(request: Request, error: Exception) -> Response:
    """Log no error of ours when a client goes away before it has sent its whole request."""
    return Response(status_code=MISASKED)


def is_browser(request: Request) -> bool:
    """Tell whether somebody looks, who gets a page."""
    return "text/html" in request.headers.get("accept", "")

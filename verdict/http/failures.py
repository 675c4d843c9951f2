"""How each error is answered: a browser gets a page, a program problem details.

Clients of schema registries read errors in a form of their own, so they get that.
"""

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match

from verdict.adapters.sql.readers.reader import NotAllowedError
from verdict.errors import UnreachableError, VerdictError
from verdict.http.auth import TokenRequiredError, is_browser
from verdict.http.pages import Pages
from verdict.http.problem import error_type, problem
from verdict.http.registry import is_of_registry, registry_error
from verdict.http.sse import TooManyFeedsError
from verdict.operations.inspect.aggregate import NotFoundError
from verdict.operations.repair.blocked import NothingWaitsError
from verdict.reactions.dead_letters.parked import NoLetterError

FAILED: Mapping[type[VerdictError], int] = {  # which status says so
    UnreachableError: 503, NotAllowedError: 403, NotFoundError: 404, NothingWaitsError: 404,
    NoLetterError: 404, TokenRequiredError: 401, TooManyFeedsError: 503,
}  # fmt: skip
MISASKED = 400  # all other errors
CHALLENGE = {"www-authenticate": "Bearer"}


def add_failures(page: FastAPI, pages: Pages) -> None:
    """Let every error be answered in one of these forms."""
    answers = {
        VerdictError: _failed,
        RequestValidationError: _misasked,
        HTTPException: _refused,
        Exception: _crashed,
    }
    for kind, answer in answers.items():
        page.exception_handler(kind)(partial(answer, pages))


async def _failed(pages: Pages, request: Request, error: Exception) -> Response:
    status = next((code for kind, code in FAILED.items() if isinstance(error, kind)), MISASKED)
    headers = CHALLENGE if status == 401 else None
    return _answer(pages, request, status, str(error), type=error_type(error), headers=headers)


async def _misasked(pages: Pages, request: Request, error: Any) -> Response:
    said = "; ".join(f"{one['loc'][-1]}: {one['msg']}" for one in error.errors())
    wrong = [{name: one[name] for name in ("loc", "msg", "type")} for one in error.errors()]
    return _answer(pages, request, 422, said, members={"errors": wrong})


async def _refused(pages: Pages, request: Request, error: Any) -> Response:
    said = f"{request.method} {request.url.path}: {error.detail}; see /openapi.json"
    headers = error.headers
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        headers = {"allow": ", ".join(sorted(_methods(request)))}
    return _answer(pages, request, error.status_code, said, headers=headers)


def _methods(request: Request) -> set[str]:
    """Return all methods of an address: Starlette names those of its first route only."""
    matching = (one for one in request.app.routes if one.matches(request.scope)[0] != Match.NONE)
    return {method for route in matching for method in getattr(route, "methods", None) or ()}


async def _crashed(pages: Pages, request: Request, error: Exception) -> Response:
    return _answer(pages, request, 500, f"{type(error).__name__}: the log of the page has more")


def _answer(pages: Pages, request: Request, status: int, said: str, **how: Any) -> Response:
    """Answer with an error; `how` is as for `problem`."""
    if is_browser(request):
        answer = pages.shown(request, "error", {"error": said}, status)
    elif is_of_registry(request):
        answer = registry_error(status, said)
    else:
        return problem(status, said, **how)
    answer.headers.update(how.get("headers") or {})
    return answer

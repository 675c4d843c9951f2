"""Pages for a browser: each is a template with values from the read side and the status."""

from asyncio import Semaphore
from collections.abc import Callable
from functools import partial
from importlib.metadata import version as version_of
from itertools import islice
from typing import Annotated, Any, NamedTuple
from urllib.parse import parse_qs, urlencode

from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool
from starlette.staticfiles import StaticFiles

from verdict.adapters.sql.readers.reader import Access, Reader, open_reader
from verdict.adapters.sql.time_text import text_of, wall_clock
from verdict.errors import UnreachableError, VerdictError
from verdict.http.auth import (
    COOKIE,
    came_from,
    cookie_value,
    has_token,
    is_same_origin,
    read,
    sees,
)
from verdict.http.diagram import picture
from verdict.http.templating import templates
from verdict.model.message import LARGEST, Fields
from verdict.operations.inspect.aggregate import NotFoundError, history, state_at
from verdict.operations.inspect.event_model import causes_in
from verdict.operations.inspect.flow import flow, why
from verdict.operations.inspect.history import reached_offsets
from verdict.operations.inspect.queries import ARCHIVED, NEWEST, REFUSALS, REFUSED, VERDICTS, rows
from verdict.operations.status.database_timeout import DatabaseTimeout
from verdict.operations.status.sampler import StatusSampler
from verdict.operations.status.status import StatusReport, total
from verdict.read_side.projections.documented_view import about_view, columns_of
from verdict.read_side.schema.system_views import views_for
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.query import DECIDER

ROWS = 200  # of a query
QUERY_S = 10
FORM_BYTES = 4_096
QUERIES = 2  # of the SQL page, at a time
FOREIGN = "Another page sent you here: press Run to run this query."
WITHOUT_TOKEN = (
    "a query needs the token of this page, which is the setting page_token (VERDICT_PAGE_TOKEN): "
    "give it below, then press Run"
)
SHOWN = 50  # rejections with a reason

Text = Annotated[str, Query(max_length=20_000)]


class FirstRows(NamedTuple):
    """The first rows of a query; `more` tells whether there are others."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    more: bool


class Pages:
    """Fills templates with what the sender of a request may see."""

    def __init__(self, settings: Settings, sampler: StatusSampler) -> None:
        self._settings = settings
        self._sampler = sampler
        self._templates = templates()
        self._turns = Semaphore(QUERIES)
        self._timeout = DatabaseTimeout()
        limit = min(QUERY_S, settings.sql_timeout_s)
        self._limited = settings.model_copy(update={"sql_timeout_s": limit})

    def shown(self, request: Request, name: str, values: Fields, status: int = 200) -> Response:
        """Return a page."""
        everywhere = {
            "name": self._settings.application.name,
            "deployment": self._settings.deployment,
            "verdict_version": version_of("verdict-cqrs"),
            "now": text_of(wall_clock()),
            "path": request.url.path,
            "aggregates": self._settings.application.aggregate_types,
            "masked": sees(request, self._settings) is Access.READER,
            "has_token": self._settings.page_token is not None,
        }
        return HTMLResponse(
            self._templates.get_template(f"{name}.html").render(values | everywhere), status
        )

    def reader(self, request: Request) -> Reader:
        """Open the views that the sender may see."""
        return open_reader(self._limited, sees(request, self._settings))

    def _overview(self) -> Fields:
        look = self._sampler.look()
        found = look.standing
        others = [one for one in look.problems if one not in look.unready]
        commands = found.commands or ()
        return {
            "look": look,
            "found": found,
            "colour": look.colour,
            "problems": [*look.unready, *others],
            "decider": look.parts.get(DECIDER),
            "sent": sum(one.end for one in commands) if commands else None,
            "waiting": total(one.lag for one in commands) if found.commands else None,
            "followers": [
                (one.processor, look.parts[one.processor]) for one in found.processors or ()
            ],
            "newest": NEWEST,
            **self._counted(found),
        }

    def overview(self, request: Request) -> Response:
        """Show the path from commands to projections."""
        return self.shown(request, "overview", self._overview())

    def live(self, request: Request) -> Response:
        """Return the part of it that changes."""
        return self.shown(request, "live", self._overview())

    def application(self, request: Request) -> Response:
        """Show which parts of the application cause what."""
        causes = causes_in(self._settings.application, self._settings.chosen)
        return self.shown(request, "application", {"causes": causes, "picture": picture(causes)})

    def aggregate(
        self,
        request: Request,
        aggregate: Text,
        id: Text,
        version: int | None = None,
        since: Annotated[int | None, Query(alias="from")] = None,
    ) -> Response:
        """Show the commands to an aggregate, its events, and two versions side by side."""
        with self.reader(request) as reader:
            found = history(self._settings.application, reader, aggregate, id)
        last = reached_offsets(found.commands)
        at = last if version is None else version
        before = max(at - 1, 0) if since is None else since
        role = sees(request, self._settings)
        states, broken = None, ""
        try:
            states = _states(self._limited, role, (aggregate, id), before, at) if last else None
        except (NotFoundError, UnreachableError):
            raise
        except VerdictError as error:  # the events help to find what was altered
            broken = str(error)
        values = {"aggregate": aggregate, "id": id, "at": at, "before": before, "last": last}
        values |= {"found": found.commands, "more": found.more, "states": states}
        values |= {"broken": broken, "missing": () if broken else found.missing}
        return self.shown(request, "aggregate", values)

    def flow(self, request: Request, id: Text = "") -> Response:
        """Show the tree of a correlation id; search for an id of something else."""
        with self.reader(request) as reader:
            found, more = flow(self._settings.application, reader, id) if id else ([], False)
        if id and not found:
            return _searched(id)
        return self.shown(request, "flow", {"id": id, "found": found, "more": more})

    def explain(self, request: Request, id: Text) -> Response:
        """Show why a command ended as it did; search for an id of something else."""
        with self.reader(request) as reader:
            found = why(self._settings.application, reader, id)
        if not found:
            return _searched(id)
        return self.shown(request, "explain", {"id": id, "found": found})

    def rejections(self, request: Request, reason: Text = "") -> Response:
        """Show how often which commands were rejected, and the newest with a reason."""
        with self.reader(request) as reader:
            grouped = rows(reader, REFUSALS)
            newest = rows(reader, REFUSED, SHOWN, reason=reason) if reason else []
        values = {"grouped": grouped, "newest": newest, "reason": reason, "among": NEWEST}
        return self.shown(request, "rejections", values)

    def projections(self, request: Request) -> Response:
        """Show every version of every projection."""
        return self._versions(request, "projections")

    def live_projections(self, request: Request) -> Response:
        """Return the part of it that changes."""
        return self._versions(request, "versions")

    def _versions(self, request: Request, template: str) -> Response:
        found = self._sampler.look().standing.projections or ()
        return self.shown(request, template, {"versions": found})

    async def sql(self, request: Request, q: Text = "") -> Response:
        """Show what a query selects, with the token; only a few run at the same time."""
        async with self._turns:
            return await run_in_threadpool(self._sql, request, q)

    def _sql(self, request: Request, q: str) -> Response:
        views = views_for(self._settings, sees(request, self._settings))
        described = [(name, about_view(view), columns_of(view)) for name, view in views.items()]
        found, error = self._selected(request, q) if q else (None, "")
        values = {"q": q, "found": found, "error": error, "views": described}
        return self.shown(request, "sql", values | {"most": ROWS, "seconds": QUERY_S})

    async def take_token(self, request: Request) -> Response:
        """Set the cookie for the token, or delete it."""
        body = await read(request, FORM_BYTES)
        if body is None:
            return self.shown(request, "error", {"error": f"more than {FORM_BYTES} bytes"}, 413)
        given = parse_qs(body.decode(errors="replace")).get("token", [""])[0].encode()
        answer = RedirectResponse(came_from(request), 303)
        if not given:
            answer.delete_cookie(COOKIE)
        elif has_token(given, self._settings):
            value = cookie_value(self._settings)
            answer.set_cookie(COOKIE, value, httponly=True, samesite="strict")
        else:
            values = {"error": "that is not the setting page_token"}
            return self.shown(request, "error", values, 403)
        return answer

    def _counted(self, found: StatusReport) -> Fields:
        """Return the counts of the read side; the status says why it does not respond."""
        try:
            if found.projections is not None:
                return self._timeout.ask("counted", self._count)
        except VerdictError:
            pass
        return {"archived": None, "verdicts": []}

    def _count(self) -> Fields:
        with open_reader(self._limited, Access.READER) as reader:
            return rows(reader, ARCHIVED)[0] | {"verdicts": rows(reader, VERDICTS)}

    def _selected(self, request: Request, query: str) -> tuple[FirstRows | None, str]:
        """Return the first rows that a query selects, or what is wrong with it."""
        access = sees(request, self._settings)
        if not is_same_origin(request):
            return None, FOREIGN
        if access is Access.READER:
            return None, WITHOUT_TOKEN
        try:
            declared = partial(views_for, self._settings, access)
            with open_reader(self._limited, access, declared) as reader:
                selected = reader.select(query)
                found = [*islice(selected.rows, ROWS + 1)]
        except VerdictError as error:
            return None, str(error)
        return FirstRows(selected.columns, found[:ROWS], len(found) > ROWS), ""


def add_pages(page: FastAPI, settings: Settings, sampler: StatusSampler) -> Pages:
    """Add the pages; return what fills templates for other routes, too."""
    pages = Pages(settings, sampler)
    page.mount("/static", StaticFiles(packages=[("verdict.http", "static")]))
    routes: dict[str, Callable[..., object]] = {
        "/": pages.overview,
        "/live": pages.live,
        "/application": pages.application,
        "/aggregate": pages.aggregate,
        "/flow": pages.flow,
        "/explain": pages.explain,
        "/rejections": pages.rejections,
        "/projections": pages.projections,
        "/projections/live": pages.live_projections,
        "/sql": pages.sql,
    }
    for path, route in routes.items():
        page.add_api_route(path, route, include_in_schema=False)
    page.add_api_route("/token", pages.take_token, methods=["POST"], include_in_schema=False)
    return pages


def _searched(id: str) -> Response:
    return RedirectResponse(f"/search?{urlencode({'q': id})}", 303)


def _states(
    settings: Settings, role: Access, whose: tuple[str, str], before: int, at: int
) -> tuple[Fields, list[tuple[str, object, object]]]:
    """Return an aggregate at version `at`, and each field with its values at both versions."""
    for version in (before, at):
        if not 0 <= version <= LARGEST:
            raise NotFoundError(f"there is no version {version}")
    now = state_at(settings, role, *whose, at)
    after, was = now["state"] or {}, state_at(settings, role, *whose, before)["state"] or {}
    return now, [(name, was.get(name), after.get(name)) for name in {**was, **after}]

"""What people see: each page is a template, filled with what others in this room tell."""

from asyncio import Semaphore
from collections.abc import Callable
from importlib.metadata import version as version_of
from typing import Annotated, Any
from urllib.parse import parse_qs, urlencode

from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool
from starlette.staticfiles import StaticFiles

from verdict.adapters.sql.readers.limited import LimitedRows
from verdict.adapters.sql.readers.reader import Access, Reader, open_reader
from verdict.adapters.sql.time_text import text_of, wall_clock
from verdict.errors import UnreachableError, VerdictError
from verdict.http.auth import COOKIE, came_from, has_token, is_of_ours, kept, read, sees
from verdict.http.diagram import picture
from verdict.http.templating import templates
from verdict.model.message import LARGEST
from verdict.operations.inspect.aggregate import NotFoundError, history, state_at
from verdict.operations.inspect.event_model import causes_in
from verdict.operations.inspect.flow import flow
from verdict.operations.inspect.history import Fields, reached_offsets
from verdict.operations.inspect.queries import ARCHIVED, NEWEST, REFUSALS, REFUSED, VERDICTS, rows
from verdict.operations.inspect.why import why
from verdict.operations.status.patience import Patience
from verdict.operations.status.sampler import StatusSampler
from verdict.operations.status.status import StatusReport, total
from verdict.read_side.projections.described import about_view, columns_of
from verdict.read_side.query.views import views_for
from verdict.service.directories import DECIDER
from verdict.settings.settings import Settings

ROWS = 200  # of a query
QUERY_S = 10
FORM_BYTES = 4_096
ASKING = 2  # queries of people at a time
FOREIGN = "Another page sent you here: this is run when you press Run."
SHOWN = 50  # refusals of a reason

Text = Annotated[str, Query(max_length=20_000)]


class Pages:
    """Fills templates for whoever asks, with what they may see.

    Args:
        settings: Of the deployment.
        watch: Looks at it.
    """

    def __init__(self, settings: Settings, watch: StatusSampler) -> None:
        self._settings = settings
        self._watch = watch
        self._templates = templates()
        self._turns = Semaphore(ASKING)
        self._patience = Patience()
        limit = min(QUERY_S, settings.sql_timeout_s)
        self._asking = settings.model_copy(update={"sql_timeout_s": limit})

    def shown(self, request: Request, name: str, told: Fields, status: int = 200) -> Response:
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
            self._templates.get_template(f"{name}.html").render(told | everywhere), status
        )

    def reader(self, request: Request) -> Reader:
        """Open the views for who asks."""
        return open_reader(self._asking, sees(request, self._settings))

    def _picture(self) -> Fields:
        """Return what the live picture shows."""
        look = self._watch.look()
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
            "beside": [
                (one.processor, look.parts[one.processor]) for one in found.processors or ()
            ],
            "newest": NEWEST,
            **self._counted(found),
        }

    def overview(self, request: Request) -> Response:
        """Show the path."""
        return self.shown(request, "overview", self._picture())

    def live(self, request: Request) -> Response:
        """Show the part of it that changes."""
        return self.shown(request, "live", self._picture())

    def application(self, request: Request) -> Response:
        """Show who causes what."""
        causes = causes_in(self._settings.application, self._settings.chosen)
        return self.shown(request, "application", {"causes": causes, "picture": picture(causes)})

    def life(
        self,
        request: Request,
        aggregate: Text,
        id: Text,
        version: int | None = None,
        since: Annotated[int | None, Query(alias="from")] = None,
    ) -> Response:
        """Show what was asked of an aggregate, what happened, and two versions side by side."""
        with self.reader(request) as reader:
            found = history(self._settings.application, reader, aggregate, id)
        last = reached_offsets(found.commands)
        at = last if version is None else version
        before = max(at - 1, 0) if since is None else since
        who = sees(request, self._settings)
        states, broken = None, ""
        try:
            states = _states(self._asking, who, (aggregate, id), before, at) if last else None
        except (NotFoundError, UnreachableError):
            raise
        except VerdictError as error:  # the events help to find what was altered
            broken = str(error)
        about = {"aggregate": aggregate, "id": id, "at": at, "before": before, "last": last}
        told = {"found": found.commands, "more": found.more, "states": states, "broken": broken}
        told["missing"] = () if broken else found.missing
        return self.shown(request, "life", about | told)

    def flow(self, request: Request, id: Text = "") -> Response:
        """Show the tree of a correlation id; an id of something else is searched for."""
        with self.reader(request) as reader:
            found, more = flow(self._settings.application, reader, id) if id else ([], False)
        if id and not found:
            return _searched(id)
        return self.shown(request, "flow", {"id": id, "found": found, "more": more})

    def why(self, request: Request, id: Text) -> Response:
        """Show why a command ended as it did; an id of something else is searched for."""
        with self.reader(request) as reader:
            found = why(self._settings.application, reader, id)
        return (
            self.shown(request, "explain", {"id": id, "found": found}) if found else _searched(id)
        )

    def rejections(self, request: Request, reason: Text = "") -> Response:
        """Show how often what was refused, and the newest of a reason."""
        with self.reader(request) as reader:
            grouped = rows(reader, REFUSALS)
            newest = rows(reader, REFUSED, SHOWN, reason=reason) if reason else []
        told = {"grouped": grouped, "newest": newest, "reason": reason, "among": NEWEST}
        return self.shown(request, "rejections", told)

    def projections(self, request: Request) -> Response:
        """Show every version of every projection."""
        return self.shown(request, "projections", self._versions())

    def live_projections(self, request: Request) -> Response:
        """Show the part of it that changes."""
        return self.shown(request, "versions", self._versions())

    def _versions(self) -> Fields:
        return {"versions": self._watch.look().standing.projections or ()}

    async def sql(self, request: Request, q: Text = "") -> Response:
        """Show what a query selects; it takes its turn, so that others are answered meanwhile."""
        async with self._turns:
            return await run_in_threadpool(self._sql, request, q)

    def _sql(self, request: Request, q: str) -> Response:
        views = views_for(self._settings, sees(request, self._settings))
        described = [(name, about_view(view), columns_of(view)) for name, view in views.items()]
        ours = is_of_ours(request)
        found, error = self._selected(request, q) if ours else (None, FOREIGN if q else "")
        told = {"q": q, "found": found, "error": error, "views": described}
        return self.shown(request, "sql", told | {"most": ROWS, "seconds": QUERY_S})

    async def take_token(self, request: Request) -> Response:
        """Let a browser keep the token, or forget it."""
        body = await read(request, FORM_BYTES)
        if body is None:
            return self.shown(request, "error", {"error": f"more than {FORM_BYTES} bytes"}, 413)
        given = parse_qs(body.decode(errors="replace")).get("token", [""])[0].encode()
        answer = RedirectResponse(came_from(request), 303)
        if not given:
            answer.delete_cookie(COOKIE)
        elif has_token(given, self._settings):
            answer.set_cookie(COOKIE, kept(self._settings), httponly=True, samesite="strict")
        else:
            told = {"error": "that is not the setting page_token"}
            return self.shown(request, "error", told, 403)
        return answer

    def _counted(self, found: StatusReport) -> Fields:
        """Return what the read side counts; a look says why it cannot be asked."""
        try:
            if found.projections is not None:
                return self._patience.ask("counted", self._count)
        except VerdictError:
            pass
        return {"archived": None, "verdicts": []}

    def _count(self) -> Fields:
        with open_reader(self._asking, Access.READER) as reader:
            return rows(reader, ARCHIVED)[0] | {"verdicts": rows(reader, VERDICTS)}

    def _selected(self, request: Request, query: str) -> tuple[LimitedRows | None, str]:
        """Return what a query selects, or what is wrong with it."""
        try:
            with self.reader(request) as reader:
                return (reader.few(query, ROWS) if query else None), ""
        except VerdictError as error:
            return None, str(error)


def add_pages(page: FastAPI, settings: Settings, watch: StatusSampler) -> Pages:
    """Let people see; return what shows them errors, too."""
    pages = Pages(settings, watch)
    page.mount("/static", StaticFiles(packages=[("verdict.http", "static")]))
    shown: dict[str, Callable[..., Any]] = {
        "/": pages.overview,
        "/live": pages.live,
        "/application": pages.application,
        "/aggregate": pages.life,
        "/flow": pages.flow,
        "/explain": pages.why,
        "/rejections": pages.rejections,
        "/projections": pages.projections,
        "/projections/live": pages.live_projections,
        "/sql": pages.sql,
    }
    for path, answer in shown.items():
        page.add_api_route(path, answer, include_in_schema=False)
    page.add_api_route("/token", pages.take_token, methods=["POST"], include_in_schema=False)
    return pages


def _searched(id: str) -> Response:
    return RedirectResponse(f"/search?{urlencode({'q': id})}", 303)


def _states(
    settings: Settings, who: Access, whose: tuple[str, str], before: int, at: int
) -> list[Any]:
    """Return an aggregate at a version, and of each field its value at another one and then."""
    for version in (before, at):
        if not 0 <= version <= LARGEST:
            raise NotFoundError(f"there is no version {version}")
    now = state_at(settings, who, *whose, at)
    after, was = now["state"] or {}, state_at(settings, who, *whose, before)["state"] or {}
    return [now, [(name, was.get(name), after.get(name)) for name in {**was, **after}]]

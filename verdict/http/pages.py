"""Pages for a browser: each is a template with values from the read side and the status."""

from itertools import islice
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from verdict.adapters.sql.readers.reader import Access, open_reader
from verdict.errors import UnreachableError, VerdictError
from verdict.http.auth import COOKIE, came_from, cookie_value, has_token, is_same_origin
from verdict.http.diagram import picture
from verdict.http.rest import AtVersion
from verdict.http.site import Context, RequestContext
from verdict.model.message import LARGEST, Fields
from verdict.operations.inspect.aggregate import NotFoundError, history, state_at
from verdict.operations.inspect.event_model import causes_in
from verdict.operations.inspect.flow import flow, reached_offsets, why
from verdict.operations.inspect.queries import ARCHIVED, NEWEST, REFUSALS, REFUSED, VERDICTS, rows
from verdict.operations.status.status import total
from verdict.read_side.projections.documented_view import about_view, columns_of
from verdict.read_side.schema.system_views import views_for
from verdict.streaming.exactly_once.query import DECIDER

ROWS = 200  # of a query
SHOWN = 50  # rejections with a reason
FOREIGN = "Another page sent you here: press Run to run this query."
WITHOUT_TOKEN = (
    "a query needs the token of this page, which is the setting page_token (VERDICT_PAGE_TOKEN): "
    "give it below, then press Run"
)

Text = Annotated[str, Query(max_length=20_000)]
FromVersion = Annotated[int | None, Query(alias="from", ge=0, le=LARGEST)]
router = APIRouter(include_in_schema=False)


class FirstRows(NamedTuple):
    """The first rows of a query; `more` tells whether there are others."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    more: bool


@router.get("/")
def overview(context: Context) -> Response:
    """Show the path from commands to projections."""
    return context.show("overview", _overview(context))


@router.get("/live")
def live(context: Context) -> Response:
    """Return the part of it that changes."""
    return context.show("live", _overview(context))


def _overview(context: RequestContext) -> Fields:
    look = context.site.sampler.look()
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
        "followers": [(one.processor, look.parts[one.processor]) for one in found.processors or ()],
        "newest": NEWEST,
        **_counted(context, found.projections is not None),
    }


def _counted(context: RequestContext, is_read_side_known: bool) -> Fields:
    """Return the counts of the read side; the status says why it does not respond."""

    def count() -> Fields:
        with context.reader(Access.READER) as reader:
            return rows(reader, ARCHIVED)[0] | {"verdicts": rows(reader, VERDICTS)}

    try:
        if is_read_side_known:
            return context.site.timeout.ask("counted", count)
    except VerdictError:
        pass
    return {"archived": None, "verdicts": []}


@router.get("/application")
def application(context: Context) -> Response:
    """Show which parts of the application cause what."""
    causes = causes_in(context.application, context.settings.chosen)
    return context.show("application", {"causes": causes, "picture": picture(causes)})


@router.get("/aggregate")
def aggregate(
    context: Context,
    aggregate: Text,
    id: Text,
    version: AtVersion = None,
    since: FromVersion = None,
) -> Response:
    """Show the commands to an aggregate, its events, and two versions side by side."""
    with context.reader() as reader:
        found = history(context.application, reader, aggregate, id)
    last = reached_offsets(found.commands)
    at = last if version is None else version
    before = max(at - 1, 0) if since is None else since
    states, broken = None, ""
    try:
        states = _states(context, aggregate, id, before, at) if last else None
    except (NotFoundError, UnreachableError):
        raise
    except VerdictError as error:  # the events help to find what was altered
        broken = str(error)
    values = {"aggregate": aggregate, "id": id, "at": at, "before": before, "last": last}
    values |= {"found": found.commands, "more": found.more, "states": states}
    values |= {"broken": broken, "missing": () if broken else found.missing}
    return context.show("aggregate", values)


def _states(
    context: RequestContext, aggregate: str, id: str, before: int, at: int
) -> tuple[Fields, list[tuple[str, object, object]]]:
    """Return an aggregate at version `at`, and each field with its values at both versions."""
    now, then = (
        state_at(context.settings, context.access, aggregate, id, version)
        for version in (at, before)
    )
    after, was = now["state"] or {}, then["state"] or {}
    return now, [(name, was.get(name), after.get(name)) for name in {**was, **after}]


@router.get("/flow")
def show_flow(context: Context, id: Text) -> Response:
    """Show the tree of a correlation id; search for an id of something else."""
    with context.reader() as reader:
        found, more = flow(context.application, reader, id)
    return context.show("flow", {"id": id, "found": found, "more": more}) if found else _search(id)


@router.get("/explain")
def explain(context: Context, id: Text) -> Response:
    """Show why a command ended as it did; search for an id of something else."""
    with context.reader() as reader:
        found = why(context.application, reader, id)
    return context.show("explain", {"id": id, "found": found}) if found else _search(id)


def _search(id: str) -> Response:
    return RedirectResponse(f"/search?{urlencode({'q': id})}", 303)


@router.get("/rejections")
def rejections(context: Context, reason: Text = "") -> Response:
    """Show how often which commands were rejected, and the newest with a reason."""
    with context.reader() as reader:
        grouped = rows(reader, REFUSALS)
        newest = rows(reader, REFUSED, SHOWN, reason=reason) if reason else []
    values = {"grouped": grouped, "newest": newest, "reason": reason, "among": NEWEST}
    return context.show("rejections", values)


@router.get("/sql")
async def sql(context: Context, q: Text = "") -> Response:
    """Show what a query selects, with the token; only a few run at the same time."""
    async with context.site.sql_turns:
        return await run_in_threadpool(_sql, context, q)


def _sql(context: RequestContext, query: str) -> Response:
    views = views_for(context.settings, context.access)
    described = [(name, about_view(view), columns_of(view)) for name, view in views.items()]
    found, error = _selected(context, query) if query else (None, "")
    values = {"q": query, "found": found, "error": error, "views": described, "most": ROWS}
    return context.show("sql", values | {"seconds": context.settings.sql_timeout_s})


def _selected(context: RequestContext, query: str) -> tuple[FirstRows | None, str]:
    """Return the first rows that a query selects, or what is wrong with it."""
    if not is_same_origin(context.request):
        return None, FOREIGN
    if context.access is Access.READER:
        return None, WITHOUT_TOKEN
    try:
        with open_reader(context.settings, context.access) as reader:
            selected = reader.select(query)
            found = [*islice(selected.rows, ROWS + 1)]
    except VerdictError as error:
        return None, str(error)
    return FirstRows(selected.columns, found[:ROWS], len(found) > ROWS), ""


@router.post("/token")
async def take_token(context: Context) -> Response:
    """Set the cookie for the token, or delete it."""
    given = (await context.form()).get("token", "")
    token, answer = context.settings.page_token, RedirectResponse(came_from(context.request), 303)
    if not given:
        answer.delete_cookie(COOKIE)
    elif token is not None and has_token(given.encode(), context.settings):
        answer.set_cookie(COOKIE, cookie_value(token), httponly=True, samesite="strict")
    else:
        return context.show("error", {"error": "that is not the setting page_token"}, 403)
    return answer

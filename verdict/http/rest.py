"""REST for reading: the state and history of an aggregate, flows, and the rows of a view.

It responds from the read side, which may be behind.
"""

from collections.abc import Callable, Sequence
from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Response
from pydantic import AwareDatetime
from starlette.convertors import (  # codespell:ignore convertors
    PathConvertor,
    register_url_convertor,
)

from verdict.adapters.sql.readers.reader import Access
from verdict.errors import VerdictError
from verdict.http.auth import SEND_TOKEN, TokenRequiredError
from verdict.http.bodies import Explanation, Flow, History, State, ViewRows
from verdict.http.responses import JsonLine, problems
from verdict.http.site import Context
from verdict.model.message import LARGEST, calendar_time, epoch_millis
from verdict.operations.inspect.aggregate import NotFoundError, history, state_at
from verdict.operations.inspect.flow import flow, lacks, why
from verdict.operations.inspect.queries import MOST, rows
from verdict.read_side.projections.documented_view import ViewColumn, columns_of
from verdict.read_side.schema.system_views import views_for

ROWS, MOST_ROWS = 100, 1000
MOST_OF_FLOW = 10_000  # all are in memory at once
BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
INTEGERS = range(-(2**63), 2**63)
PARSE: dict[str, Callable[[str], object]] = {  # type of a column → its values
    "integer": lambda text: INTEGERS[INTEGERS.index(int(text))],
    "boolean": lambda text: BOOLEANS[text],
    "time": lambda text: calendar_time(epoch_millis(text)),
}

At = Annotated[AwareDatetime | None, Query(description="As of this time, which has a zone.")]
AtVersion = Annotated[int | None, Query(ge=0, le=LARGEST, description="As of this version.")]
Limit = Annotated[int, Query(alias="_limit", ge=1, le=MOST_ROWS, description="Rows of a page.")]
Offset = Annotated[int, Query(alias="_offset", ge=0, le=LARGEST, description="Rows before it.")]
OfFlow = Annotated[
    int,
    Query(alias="_limit", ge=1, le=MOST_OF_FLOW, description="Commands, and events, of the flow."),
]
FAILURES = problems(400, 404, 422, 503)


class AnyText(PathConvertor):
    """Any text up to the end of a path: Starlette's `path` ends at the first line break."""

    regex = "(?s:.*)"


register_url_convertor("any_text", AnyText())
router = APIRouter(tags=["read side"])


@router.get("/state/{aggregate}/{id:any_text}", response_model=State, responses=FAILURES)
def get_state(
    context: Context, aggregate: str, id: str, at_version: AtVersion = None, at: At = None
) -> Response:
    """Return the state of an aggregate, now or at a version or time."""
    until = None if at is None else epoch_millis(at.isoformat())
    return JsonLine(state_at(context.settings, context.access, aggregate, id, at_version, until))


@router.get("/history/{aggregate}/{id:any_text}", response_model=History, responses=FAILURES)
def get_history(
    context: Context, aggregate: str, id: str, limit: Limit = MOST, offset: Offset = 0
) -> Response:
    """Return the newest commands to an aggregate, also rejected ones, with their events."""
    with context.reader() as reader:
        found = history(context.application, reader, aggregate, id, limit, offset)
    is_behind_the_end = offset and aggregate in context.application.aggregate_types
    if not (found.commands or found.missing or is_behind_the_end):
        raise NotFoundError(f"there is no {aggregate} {id!r}: the read side knows no command to it")
    following = f"/history/{aggregate}/{quote(id, safe='')}?{_next(limit, offset)}"
    return JsonLine(
        {
            "aggregate_type": aggregate,
            "aggregate_id": id,
            "complete": found.complete,
            "missing": found.missing,
            "commands": found.commands,
            "next": following if found.more else None,
        }
    )


@router.get("/trace/{correlation_id:any_text}", response_model=Flow, responses=FAILURES)
def get_trace(context: Context, correlation_id: str, limit: OfFlow = MOST) -> Response:
    """Return the tree of a flow, `complete` if nothing is missing or left out."""
    with context.reader() as reader:
        found, more = flow(context.application, reader, correlation_id, limit)
    if not found:
        raise NotFoundError(f"the read side knows no command of the flow {correlation_id!r}")
    about = {"correlation_id": correlation_id, "complete": not (more or lacks(found))}
    return JsonLine(about | {"commands": found})


@router.get("/explain/{command_id:any_text}", response_model=Explanation, responses=FAILURES)
def explain_command(context: Context, command_id: str) -> Response:
    """Return each record of a command, with the version and the events that it met."""
    with context.reader() as reader:
        if not (found := why(context.application, reader, command_id)):
            raise NotFoundError(f"the read side knows no outcome of a command {command_id!r}")
    return JsonLine({"command_id": command_id, "records": found})


@router.get("/read/{view}", response_model=ViewRows, responses=FAILURES, tags=["views"])
def read_view(context: Context, view: str, limit: Limit = ROWS, offset: Offset = 0) -> Response:
    """Return rows of a view, sorted by its columns, and the address of the next ones."""
    views = views_for(context.settings, context.access)
    if view not in views:
        if view in views_for(context.settings, Access.SUPPORT):
            raise TokenRequiredError(f"reading the view {view!r} needs the token: {SEND_TOKEN}")
        raise NotFoundError(f"there is no view {view!r}: there are {', '.join(views)}")
    columns = columns_of(views[view])
    json = [column.name for column in columns if column.type == "json"]
    parameters = context.request.query_params.multi_items()
    asked = [(name, text) for name, text in parameters if name not in ("_limit", "_offset")]
    with context.reader() as reader:
        query, values = selected(view, columns, asked)
        found = rows(reader, query, limit + 1, json, offset=offset, **values)
    following = "&".join(filter(None, (urlencode(asked), _next(limit, offset))))
    more = f"/read/{view}?{following}" if len(found) > limit else None
    return JsonLine({"rows": found[:limit], "next": more})


def _next(limit: int, offset: int) -> str:
    return urlencode({"_limit": limit, "_offset": offset + limit})


def selected(
    view: str, columns: Sequence[ViewColumn], asked: Sequence[tuple[str, str]]
) -> tuple[str, dict[str, object]]:
    """Return a SELECT of the rows whose columns have these values, and its parameters.

    Raises:
        VerdictError: There is no such column, or it has no such values.
    """
    types = {column.name: column.type for column in columns}
    values: dict[str, object] = {}
    for number, (name, text) in enumerate(asked):
        if name not in types:
            raise VerdictError(f"{view} has no column {name!r}: it has {', '.join(types)}")
        try:
            values[f"value_{number}"] = PARSE.get(types[name], str)(text)
        except (ValueError, LookupError, OverflowError):
            raise VerdictError(
                f"{name} of {view} is {types[name]}, which {text!r} is not"
            ) from None
    where = " AND ".join(f'"{name}" = :value_{n}' for n, (name, _) in enumerate(asked))
    order = ", ".join(f'"{name}"' for name, kind in types.items() if kind != "json")
    return (
        f'SELECT * FROM "{view}" {f"WHERE {where}" if where else ""} '
        f"ORDER BY {order} LIMIT :most OFFSET :offset",
        values,
    )

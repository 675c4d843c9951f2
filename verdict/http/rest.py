"""REST for reading: the state and history of an aggregate, flows, and the rows of a view."""

from collections.abc import Callable, Sequence
from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import FastAPI, Query, Request, Response
from pydantic import AwareDatetime, BaseModel
from starlette.convertors import (  # codespell:ignore convertors
    PathConvertor,
    register_url_convertor,
)

from verdict.adapters.sql.readers.reader import Access, Reader, open_reader
from verdict.errors import VerdictError
from verdict.http.auth import SEND_TOKEN, TokenRequiredError, sees
from verdict.http.bodies import Explanation, Flow, History, State, ViewRows
from verdict.http.responses import JsonLine, problems
from verdict.model.message import LARGEST, calendar_time, epoch_millis
from verdict.operations.inspect.aggregate import NotFoundError, history, state_at
from verdict.operations.inspect.flow import flow, lacks, why
from verdict.operations.inspect.queries import MOST, rows
from verdict.read_side.projections.documented_view import ViewColumn, columns_of
from verdict.read_side.schema.system_views import views_for
from verdict.settings.settings import Settings

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
OWN = ("_limit", "_offset")


class AnyText(PathConvertor):
    """Any text up to the end of a path: Starlette's `path` ends at the first line break."""

    regex = "(?s:.*)"


register_url_convertor("any_text", AnyText())


def any_text(name: str) -> str:
    """Return the last part of a route: any text, with the name of the parameter that gets it."""
    return f"{{{name}:any_text}}"


class Rest:
    """Responds from the read side, which may be behind."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def state(
        self,
        request: Request,
        aggregate: str,
        id: str,
        at_version: AtVersion = None,
        at: At = None,
    ) -> Response:
        """Return the state of an aggregate, now or at a version or time."""
        until = None if at is None else epoch_millis(at.isoformat())
        who = sees(request, self._settings)
        return JsonLine(state_at(self._settings, who, aggregate, id, at_version, until))

    def history(
        self,
        request: Request,
        aggregate: str,
        id: str,
        limit: Limit = MOST,
        offset: Offset = 0,
    ) -> Response:
        """Return the newest commands to an aggregate, also rejected ones, with their events."""
        with self._reader(request) as reader:
            found = history(self._settings.application, reader, aggregate, id, limit, offset)
        if not (found.commands or found.missing or offset):
            raise NotFoundError(
                f"there is no {aggregate} {id!r}: the read side knows no command to it"
            )
        about = {
            "aggregate_type": aggregate,
            "aggregate_id": id,
            "complete": found.complete,
            "missing": found.missing,
        }
        following = f"/history/{aggregate}/{quote(id, safe='')}?{_next(limit, offset)}"
        return JsonLine(
            about | {"commands": found.commands, "next": following if found.more else None}
        )

    def trace(self, request: Request, correlation_id: str, limit: OfFlow = MOST) -> Response:
        """Return the tree of a flow, `complete` if nothing is missing or left out."""
        with self._reader(request) as reader:
            found, more = flow(self._settings.application, reader, correlation_id, limit)
        if not found:
            raise NotFoundError(f"the read side knows no command of the flow {correlation_id!r}")
        about = {"correlation_id": correlation_id, "complete": not (more or lacks(found))}
        return JsonLine(about | {"commands": found})

    def explain(self, request: Request, command_id: str) -> Response:
        """Return each record of a command, with the version and the events that it met."""
        with self._reader(request) as reader:
            if not (found := why(self._settings.application, reader, command_id)):
                raise NotFoundError(f"the read side knows no outcome of a command {command_id!r}")
        return JsonLine({"command_id": command_id, "records": found})

    def read(
        self, request: Request, view: str, limit: Limit = ROWS, offset: Offset = 0
    ) -> Response:
        """Return rows of a view, sorted by its columns, and the address of the next ones."""
        views = views_for(self._settings, sees(request, self._settings))
        if view not in views:
            if view in views_for(self._settings, Access.SUPPORT):
                raise TokenRequiredError(f"reading the view {view!r} needs the token: {SEND_TOKEN}")
            raise NotFoundError(f"there is no view {view!r}: there are {', '.join(views)}")
        columns = columns_of(views[view])
        json = [column.name for column in columns if column.type == "json"]
        asked = [(k, v) for k, v in request.query_params.multi_items() if k not in OWN]
        with self._reader(request) as reader:
            query, values = selected(view, columns, asked)
            found = rows(reader, query, limit + 1, json, offset=offset, **values)
        following = "&".join(filter(None, (urlencode(asked), _next(limit, offset))))
        more = f"/read/{view}?{following}" if len(found) > limit else None
        return JsonLine({"rows": found[:limit], "next": more})

    def _reader(self, request: Request) -> Reader:
        return open_reader(self._settings, sees(request, self._settings))


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


def add_rest(page: FastAPI, settings: Settings) -> None:
    """Add REST for reading."""
    rest = Rest(settings)
    one = f"{{aggregate}}/{any_text('id')}"
    routes: dict[str, tuple[Callable[..., Response], str, type[BaseModel]]] = {
        f"/state/{one}": (rest.state, "get_state", State),
        f"/history/{one}": (rest.history, "get_history", History),
        f"/trace/{any_text('correlation_id')}": (rest.trace, "get_trace", Flow),
        f"/explain/{any_text('command_id')}": (rest.explain, "explain_command", Explanation),
        "/read/{view}": (rest.read, "read_view", ViewRows),
    }
    for path, (route, operation_id, model) in routes.items():
        page.add_api_route(
            path,
            route,
            summary=route.__doc__,
            operation_id=operation_id,
            tags=["views" if route == rest.read else "read side"],
            response_model=model,
            responses=problems(400, 404, 422, 503),
        )

"""What programs ask: an aggregate's state and history, flows, and the rows of a view."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import FastAPI, Query, Request, Response
from pydantic import AwareDatetime

from verdict.adapters.sql.readers.reader import Access, Reader, open_reader
from verdict.errors import VerdictError
from verdict.http.answers import JsonAnswer
from verdict.http.auth import SEND_TOKEN, TokenRequiredError, sees
from verdict.http.bodies import Explanation, Flow, History, State, ViewRows
from verdict.http.path_text import any_text
from verdict.http.problem import problems
from verdict.model.message import LARGEST, calendar_time, epoch_millis
from verdict.operations.inspect.aggregate import NotFoundError, history, state_at
from verdict.operations.inspect.flow import flow, lacks
from verdict.operations.inspect.queries import MOST, rows
from verdict.operations.inspect.why import why
from verdict.read_side.projections.described import ViewColumn, columns_of
from verdict.read_side.query.views import views_for
from verdict.settings.settings import Settings

ROWS, MOST_ROWS = 100, 1000
MOST_OF_FLOW = 10_000  # they are all held at once
TRUTH = {"true": True, "1": True, "false": False, "0": False}
INTEGERS = range(-(2**63), 2**63)
MEANT: dict[str, Callable[[str], Any]] = {
    "integer": lambda text: INTEGERS[INTEGERS.index(int(text))],
    "boolean": lambda text: TRUTH[text],
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


class Rest:
    """Answers from the read side: what it has not come to is not there yet."""

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
        """Answer with an aggregate's state, its version and position."""
        until = None if at is None else epoch_millis(at.isoformat())
        who = sees(request, self._settings)
        return JsonAnswer(state_at(self._settings, who, aggregate, id, at_version, until))

    def history(
        self,
        request: Request,
        aggregate: str,
        id: str,
        limit: Limit = MOST,
        offset: Offset = 0,
    ) -> Response:
        """Answer with the newest commands to an aggregate, the refused too, and their events."""
        with self._reader(request) as reader:
            found = history(self._settings.application, reader, aggregate, id, limit, offset)
        if not (found.commands or found.missing or offset):
            raise NotFoundError(
                f"there is no {aggregate} {id!r}: nothing is known to be asked of it"
            )
        about = {
            "aggregate_type": aggregate,
            "aggregate_id": id,
            "complete": found.complete,
            "missing": found.missing,
        }
        following = f"/history/{aggregate}/{quote(id, safe='')}?{_next(limit, offset)}"
        return JsonAnswer(
            about | {"commands": found.commands, "next": following if found.more else None}
        )

    def trace(self, request: Request, correlation_id: str, limit: OfFlow = MOST) -> Response:
        """Answer with the tree of a flow, `complete` if nothing is missing or left out."""
        with self._reader(request) as reader:
            found, more = flow(self._settings.application, reader, correlation_id, limit)
        if not found:
            raise NotFoundError(f"no command of the flow {correlation_id!r} is known")
        about = {"correlation_id": correlation_id, "complete": not (more or lacks(found))}
        return JsonAnswer(about | {"commands": found})

    def why(self, request: Request, command_id: str) -> Response:
        """Answer with each record of a command, what it met and who was before it."""
        with self._reader(request) as reader:
            if not (found := why(self._settings.application, reader, command_id)):
                raise NotFoundError(f"no command {command_id!r} is known to be answered")
        return JsonAnswer({"command_id": command_id, "records": found})

    def read(
        self, request: Request, view: str, limit: Limit = ROWS, offset: Offset = 0
    ) -> Response:
        """Answer with rows of a view, sorted by its columns, and where the next ones are."""
        views = views_for(self._settings, sees(request, self._settings))
        if view not in views:
            if view in views_for(self._settings, Access.SUPPORT):
                raise TokenRequiredError(f"the view {view!r} is not for everybody: {SEND_TOKEN}")
            raise NotFoundError(f"there is no view {view!r}: there are {', '.join(views)}")
        columns = columns_of(views[view])
        json = [column.name for column in columns if column.type == "json"]
        asked = [(k, v) for k, v in request.query_params.multi_items() if k not in OWN]
        with self._reader(request) as reader:
            query, values = selected(view, columns, asked)
            found = rows(reader, query, limit + 1, json, offset=offset, **values)
        following = "&".join(filter(None, (urlencode(asked), _next(limit, offset))))
        more = f"/read/{view}?{following}" if len(found) > limit else None
        return JsonAnswer({"rows": found[:limit], "next": more})

    def _reader(self, request: Request) -> Reader:
        return open_reader(self._settings, sees(request, self._settings))


def _next(limit: int, offset: int) -> str:
    return urlencode({"_limit": limit, "_offset": offset + limit})


def selected(
    view: str, columns: Sequence[ViewColumn], asked: Sequence[tuple[str, str]]
) -> tuple[str, dict[str, Any]]:
    """Return a SELECT of the rows whose columns have these values, and its parameters.

    Raises:
        VerdictError: There is no such column, or it holds no such values.
    """
    types = {column.name: column.type for column in columns}
    values: dict[str, Any] = {}
    for number, (name, text) in enumerate(asked):
        if name not in types:
            raise VerdictError(f"{view} has no column {name!r}: it has {', '.join(types)}")
        try:
            values[f"value_{number}"] = MEANT.get(types[name], str)(text)
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
    """Let programs ask."""
    rest = Rest(settings)
    one = f"{{aggregate}}/{any_text('id')}"
    routes: dict[str, tuple[Callable[..., Response], str, Any, str]] = {
        f"/state/{one}": (
            rest.state, "get_state", State, "An aggregate as it is, or was at a version or time.",
        ),
        f"/history/{one}": (
            rest.history, "get_history", History,
            "What was asked of an aggregate, what came of it; `next` is older.",
        ),
        f"/trace/{any_text('correlation_id')}": (
            rest.trace, "get_trace", Flow, "A flow as a tree, over policies.",
        ),
        f"/explain/{any_text('command_id')}": (
            rest.why, "explain_command", Explanation, "Why a command ended as it did, and who won.",
        ),
        "/read/{view}": (
            rest.read, "read_view", ViewRows,
            "Rows of a view, where COLUMN=VALUE; `next` has more.",
        ),
    }  # fmt: skip
    for path, (answer, operation_id, model, summary) in routes.items():
        page.add_api_route(
            path,
            answer,
            summary=summary,
            operation_id=operation_id,
            tags=["views" if answer == rest.read else "read side"],
            response_model=model,
            responses=problems(400, 404, 422, 503),
        )

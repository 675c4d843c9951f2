"""Server-sent events: new rows of a feed, and the outcome of a command.

Each stream polls a view, so a client that left needs no clean-up. After a break a browser continues
by the `Last-Event-ID` that it sends.
"""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Annotated

from fastapi import APIRouter, Header, Query, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event

from verdict.errors import VerdictError
from verdict.http.responses import problems
from verdict.http.site import Context, RequestContext
from verdict.model.message import LARGEST, Fields
from verdict.operations.inspect.aggregate import NotFoundError
from verdict.operations.inspect.queries import OF_COMMAND, response, rows
from verdict.read_side.projections.documented_view import View, columns_of
from verdict.read_side.schema.system_views import views_for
from verdict.wire.json_lines import json_line

NUMBER = "seq"  # the column of views that can be followed
MOST_OPEN = 32
LOOK_S, KEEP_ALIVE_LOOKS, MOST_S = 1.0, 15, 300.0

ReadRows = Callable[[], list[Fields]]
After = Annotated[int | None, Query(ge=0, le=LARGEST, description="Rows after this number.")]
LastId = Annotated[int | None, Header(ge=0, le=LARGEST, description="As browsers send it.")]
Seconds = Annotated[float, Query(ge=0, le=MOST_S, description="After which it ends.")]
router = APIRouter(tags=["feeds"])


class EventStream(Response):
    """The media type for OpenAPI; FastAPI would build the stream itself for its own class."""

    media_type = "text/event-stream"


class TooManyFeedsError(VerdictError):
    """As many feeds are open as the page allows."""


class Streams:
    """A limited number of open streams, each for some minutes, until the page is stopping."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self._open = 0

    async def respond(self, look: ReadRows, id: str, for_s: float, once: bool) -> Response:
        """Stream what `look` finds; `id` is the column with the ids of the events."""
        if self._open >= MOST_OPEN:
            raise TooManyFeedsError(
                f"{MOST_OPEN} feeds are open, which is the limit: try again later"
            )
        found = await run_in_threadpool(look)  # an error gets its own status
        return EventSourceResponse(self.events(found, look, id, for_s, once))

    async def events(
        self, found: list[Fields], look: ReadRows, id: str, for_s: float, once: bool
    ) -> AsyncIterator[bytes]:
        """Yield the rows that were found, and those of later looks."""
        self._open += 1
        try:
            until, quiet = time.monotonic() + for_s, 0
            while True:
                for one in found:
                    yield format_sse_event(data_str=json_line(one).decode(), id=str(one[id]))
                if self.stopping.is_set() or time.monotonic() >= until or (once and found):
                    return
                if found:  # there may be more rows
                    quiet = 0
                else:
                    if quiet % KEEP_ALIVE_LOOKS == 0:  # it fails if the client has left
                        yield KEEPALIVE_COMMENT
                    quiet += 1
                    await asyncio.sleep(LOOK_S)
                found = await run_in_threadpool(look)
        finally:
            self._open -= 1


@router.get("/feed/{view}", response_class=EventStream, responses=problems(400, 404, 422, 503))
async def follow_feed(
    context: Context,
    view: str,
    after: After = None,
    last_event_id: LastId = None,
    for_s: Seconds = MOST_S,
) -> Response:
    """Send each row of a numbered view, with its number as the id of the event."""
    if view not in (feeds := [*numbered(views_for(context.settings, context.access).items())]):
        raise NotFoundError(f"there is no feed {view!r}: there are {', '.join(feeds)}")
    seen = next((one for one in (last_event_id, after) if one is not None), 0)
    query = f'SELECT * FROM "{view}" WHERE {NUMBER} > :seen ORDER BY {NUMBER} LIMIT :most'

    def look() -> list[Fields]:
        nonlocal seen
        found = _rows(context, query, seen=seen)
        seen = found[-1][NUMBER] if found else seen
        return found

    return await _streams(context).respond(look, NUMBER, for_s, once=False)


@router.get(
    "/outcome/{command_id:any_text}",
    response_class=EventStream,
    responses=problems(400, 422, 503),
)
async def follow_outcome(context: Context, command_id: str, for_s: Seconds = MOST_S) -> Response:
    """Send the outcome of a command as soon as the view `outcome` has it, and end."""

    def look() -> list[Fields]:
        return [*map(response, _rows(context, OF_COMMAND, command_id=command_id))]

    return await _streams(context).respond(look, "command_id", for_s, once=True)


def _streams(context: RequestContext) -> Streams:
    streams: Streams = context.request.app.state.streams
    return streams


def _rows(context: RequestContext, query: str, **asked: object) -> list[Fields]:
    with context.reader() as reader:
        return rows(reader, query, **asked)


def numbered(views: Iterable[tuple[str, View]]) -> Iterable[str]:
    """Yield the names of the views that can be followed."""
    return (name for name, view in views if columns_of(view)[0].name == NUMBER)

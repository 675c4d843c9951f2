"""The search for an id or a position in Kafka: what has it, and the page that shows it."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Response
from fastapi.responses import RedirectResponse

from verdict.adapters.sql.readers.reader import Access, Reader
from verdict.http.lists import types
from verdict.http.pages import Text
from verdict.http.site import Context, RequestContext
from verdict.model.message import LARGEST, Fields
from verdict.operations.inspect.queries import rows
from verdict.operations.repair.stopping_records import place_of

MOST = 20  # of one kind
router = APIRouter(include_in_schema=False)

# each query gives a kind, a text, the page that shows it, and what that page is asked
COMMAND = """\
SELECT DISTINCT 'command' AS kind, coalesce(command_type, '?') || ' to ' || aggregate_type || ' ' ||
aggregate_id || ', ' || coalesce(reason, status) AS about, '/explain' AS page, command_id AS id
FROM outcome WHERE"""
EVENT = """\
SELECT 'event' AS kind, event_type || ', version ' || version || ' of ' || aggregate_type || ' ' ||
aggregate_id AS about, '/aggregate' AS page, aggregate_type AS aggregate, aggregate_id AS id,
version FROM event_archive WHERE"""
STOPPED = """\
SELECT 'record' AS kind, 'projection ' || projection || ' is stopped at this record' AS about,
'/record' AS page, :id AS id FROM projection_stopped WHERE"""
FLOW = """\
SELECT 'flow' AS kind, correlation_id AS about, '/flow' AS page, correlation_id AS id FROM {view}
WHERE correlation_id = :id
AND NOT EXISTS (SELECT 1 FROM outcome WHERE command_id = :id AND correlation_id = :id)"""
AGGREGATE = """\
SELECT 'aggregate' AS kind, aggregate_type || ' ' || aggregate_id AS about, '/aggregate' AS page,
aggregate_type AS aggregate, aggregate_id AS id FROM {view}
WHERE aggregate_type IN ({types}) AND aggregate_id = :id"""
BLOCKED = """\
SELECT 'blocked aggregate' AS kind, :id AS about, '/blocked' AS page, :id AS id
FROM projection_blocked WHERE projection || '/' || aggregate_type || '/' || aggregate_id = :id"""
LETTER = """\
SELECT 'dead letter' AS kind, topic || ':' || "partition" || ':' || "offset" || ', ' ||
lower(status) || ' after attempt ' || attempt || ' of ' || attempts AS about,
CASE status WHEN 'PARKED' THEN '/dead-letter' END AS page, id FROM dead_letter WHERE"""
BY_ID, AT = "id = :id", 'topic = :topic AND "partition" = :partition AND "offset" = :offset'
OF_BOTH = ("outcome", "event_archive")
FOUND_BY_ID = (
    f"{COMMAND} command_id = :id",
    " UNION ".join(FLOW.replace("{view}", view) for view in OF_BOTH),
    " UNION ".join(AGGREGATE.replace("{view}", view) for view in OF_BOTH),
    BLOCKED,
)
FOUND_AT_POSITION = (f"{COMMAND} {AT}", f"{EVENT} {AT}", f"{STOPPED} {AT}")


class Hit(NamedTuple):
    """Something that was found: its kind, a text, and the address of its page, if it has one."""

    kind: str
    about: str
    address: str | None


@router.get("/search")
def search(context: Context, q: Text = "") -> Response:
    """Show what has an id or is at a position; go to it if it is one thing."""
    found = [*_hits(context, q)] or [*_hits(context, q.strip())]
    if len(found) == 1 and found[0].address is not None:
        return RedirectResponse(found[0].address, 303)
    values = {"q": q.strip(), "found": found, "types": context.application.aggregate_types}
    return context.show("search", values)


def _hits(context: RequestContext, id: str) -> Iterator[Hit]:
    """Yield what has an id or a position; a flow only if no found command shows it."""
    place = place_of(id)
    if place is not None and max(place.partition, place.offset) > LARGEST:
        place = None
    at: Fields | None = None if place is None else asdict(place)
    with context.reader() as reader:
        by_id = (one.replace("{types}", types(context.application)) for one in FOUND_BY_ID)
        yield from _found(reader, by_id, {"id": id})
        if at is not None:
            yield from _found(reader, FOUND_AT_POSITION, at | {"id": id})
    with context.reader(Access.SUPPORT) as reader:  # ids of dead letters are no secret
        yield from _found(reader, [f"{LETTER} {BY_ID}"], {"id": id})
        if at is not None:
            yield from _found(reader, [f"{LETTER} {AT}"], at)


def _found(reader: Reader, queries: Iterable[str], asked: Fields) -> Iterator[Hit]:
    for query in queries:
        for row in rows(reader, f"{query} LIMIT :most", MOST, **asked):
            kind, about, page = (row.pop(name) for name in ("kind", "about", "page"))
            yield Hit(kind, about, page and f"{page}?{urlencode(row)}")

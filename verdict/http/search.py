"""The search for an id or a position in Kafka: what has it, and the page that shows it."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import NamedTuple
from urllib.parse import urlencode

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from verdict.adapters.sql.readers.reader import Access, Reader, open_reader
from verdict.http.lists import types
from verdict.http.pages import Pages, Text
from verdict.model.application import Application
from verdict.model.message import LARGEST, Fields
from verdict.operations.inspect.queries import rows
from verdict.operations.repair.stopping_records import place_of
from verdict.operations.status.sampler import StatusSampler
from verdict.read_side.tables.row_states import PARKED
from verdict.settings.settings import Settings

MOST = 20  # of one kind


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
SELECT id, topic, "partition", "offset", status, attempt, attempts, due_at FROM dead_letter WHERE"""
OF_BOTH = ("outcome", "event_archive")
BY_ID = (
    f"{COMMAND} command_id = :id",
    " UNION ".join(FLOW.replace("{view}", view) for view in OF_BOTH),
    " UNION ".join(AGGREGATE.replace("{view}", view) for view in OF_BOTH),
    BLOCKED,
)
AT = 'topic = :topic AND "partition" = :partition AND "offset" = :offset'
BY_PLACE = (f"{COMMAND} {AT}", f"{EVENT} {AT}", f"{STOPPED} {AT}")


class Hit(NamedTuple):
    """Something that was found: its kind, a text, and the address of its page, if it has one."""

    kind: str
    about: str
    address: str | None


def add_search(page: FastAPI, settings: Settings, pages: Pages, sampler: StatusSampler) -> None:
    """Add the search."""

    def hits(request: Request, id: str) -> list[Hit]:
        with pages.reader(request) as reader:
            found = [*_hits(settings.application, reader, id)]
        with open_reader(settings, Access.SUPPORT) as reader:  # ids of dead letters are no secret
            return [*found, *_letters(reader, id)]

    def search(request: Request, q: Text = "") -> Response:
        found = hits(request, q) or hits(request, q.strip())
        if len(found) == 1 and found[0].address is not None:
            return RedirectResponse(found[0].address, 303)
        behind = [sampler.look().parts.get(name) for name in ("outcome", "event_archive")]
        values = {
            "q": q.strip(),
            "found": found,
            "types": settings.application.aggregate_types,
            "behind": max((one.waiting or 0 for one in behind if one), default=0),
        }
        return pages.shown(request, "search", values)

    page.add_api_route("/search", search, include_in_schema=False)


def _hits(application: Application, reader: Reader, id: str) -> Iterator[Hit]:
    """Yield what has an id or a position; a flow only if no found command shows it."""
    for query in BY_ID:
        yield from map(_hit, _rows(reader, query.replace("{types}", types(application)), id=id))
    if (place := _place(id)) is not None:
        for query in BY_PLACE:
            yield from map(_hit, _rows(reader, query, id=id, **place))


def _letters(reader: Reader, id: str) -> Iterator[Hit]:
    yield from map(_letter, _rows(reader, f"{LETTER} id = :id", id=id))
    if (place := _place(id)) is not None:
        yield from map(_letter, _rows(reader, f"{LETTER} {AT}", **place))


def _hit(row: Fields) -> Hit:
    kind, about, page = (row.pop(name) for name in ("kind", "about", "page"))
    return Hit(kind, about, f"{page}?{urlencode(row)}")


def _letter(row: Fields) -> Hit:
    at = f"{row['topic']}:{row['partition']}:{row['offset']}"
    if row["status"] == PARKED:
        return Hit("dead letter", f"{at}, parked", f"/dead-letter?{urlencode({'id': row['id']})}")
    tries = f"attempt {row['attempt']} of {row['attempts']} at {row['due_at']}"
    return Hit("dead letter", f"{at}, waits for {tries}", None)


def _rows(reader: Reader, query: str, **asked: object) -> list[Fields]:
    return rows(reader, f"{query} LIMIT :most", MOST, **asked)


def _place(text: str) -> Fields | None:
    place = place_of(text)
    return None if place is None or max(place.partition, place.offset) > LARGEST else asdict(place)

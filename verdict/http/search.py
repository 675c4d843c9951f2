"""The search for an id or a position in Kafka: what has it, and the page that shows it."""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import NamedTuple
from urllib.parse import urlencode

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from verdict.adapters.sql.readers.reader import Access, Reader, open_reader
from verdict.http.lists import types
from verdict.http.pages import Pages, Text
from verdict.model.application import Application
from verdict.model.message import LARGEST
from verdict.operations.inspect.history import Fields
from verdict.operations.inspect.queries import rows
from verdict.operations.repair.stopping_records import place_of
from verdict.operations.status.sampler import StatusSampler
from verdict.read_side.tables.row_states import PARKED
from verdict.settings.settings import Settings

MOST = 20  # of one kind


class Hit(NamedTuple):
    """Something that was found: its kind, a text, and the address of its page, if it has one."""

    kind: str
    about: str
    address: str | None


class SearchSource(NamedTuple):
    """A query for one kind of things, and what a row of it becomes."""

    query: str
    hit: Callable[[Fields], Hit]


def _link(path: str, **asked: object) -> str:
    return f"{path}?{urlencode(asked)}"


def _command(row: Fields) -> Hit:
    about = f"{row['command_type']} to {row['aggregate_type']} {row['aggregate_id']}"
    outcome = row["reason"] or row["status"]
    return Hit("command", f"{about}, {outcome}", _link("/explain", id=row["command_id"]))


def _flow(row: Fields) -> Hit:
    return Hit("flow", row["id"], _link("/flow", id=row["id"]))


def _aggregate(row: Fields) -> Hit:
    kind, name = row["aggregate_type"], row["aggregate_id"]
    return Hit("aggregate", f"{kind} {name}", _link("/aggregate", aggregate=kind, id=name))


def _event(row: Fields) -> Hit:
    kind, name, version = row["aggregate_type"], row["aggregate_id"], row["version"]
    about = f"{row['event_type']}, version {version} of {kind} {name}"
    return Hit("event", about, _link("/aggregate", aggregate=kind, id=name, version=version))


def _blocked(row: Fields) -> Hit:
    return Hit("blocked aggregate", row["id"], _link("/blocked", id=row["id"]))


def _stopped(row: Fields) -> Hit:
    about = f"projection {row['projection']} is stopped at this record"
    return Hit("record", about, _link("/record", id=row["id"]))


def _letter(row: Fields) -> Hit:
    at = f"{row['topic']}:{row['partition']}:{row['offset']}"
    if row["status"] == PARKED:
        return Hit("dead letter", f"{at}, parked", _link("/dead-letter", id=row["id"]))
    tries = f"attempt {row['attempt']} of {row['attempts']} at {row['due_at']}"
    return Hit("dead letter", f"{at}, waits for {tries}", None)


COMMAND = "SELECT * FROM outcome WHERE"
EVENT = "SELECT aggregate_type, aggregate_id, version, event_type FROM event_archive WHERE"
LETTER = """\
SELECT id, topic, "partition", "offset", status, attempt, attempts, due_at FROM dead_letter WHERE"""
AT = 'topic = :topic AND "partition" = :partition AND "offset" = :offset LIMIT :most'
HAS_ID = "aggregate_type IN ({types}) AND aggregate_id = :id"
COMMANDS = SearchSource(f"{COMMAND} command_id = :id LIMIT :most", _command)
FLOWS = SearchSource(
    "SELECT correlation_id AS id FROM outcome WHERE correlation_id = :id UNION "
    "SELECT correlation_id FROM event_archive WHERE correlation_id = :id LIMIT :most",
    _flow,
)
AGGREGATES = SearchSource(
    f"SELECT aggregate_type, aggregate_id FROM outcome WHERE {HAS_ID} UNION "
    f"SELECT aggregate_type, aggregate_id FROM event_archive WHERE {HAS_ID} LIMIT :most",
    _aggregate,
)
EVENTS = SearchSource(f"{EVENT} event_id = :id LIMIT :most", _event)
BLOCKED = SearchSource(
    "SELECT :id AS id FROM projection_blocked "
    "WHERE projection || '/' || aggregate_type || '/' || aggregate_id = :id LIMIT :most",
    _blocked,
)
LETTERS = SearchSource(f"{LETTER} id = :id LIMIT :most", _letter)
BY_PLACE = (
    SearchSource(f"{COMMAND} {AT}", _command),
    SearchSource(f"{EVENT} {AT}", _event),
    SearchSource(f"SELECT projection, :id AS id FROM projection_stopped WHERE {AT}", _stopped),
)
LETTERS_BY_PLACE = SearchSource(f"{LETTER} {AT}", _letter)


def add_search(page: FastAPI, settings: Settings, pages: Pages, sampler: StatusSampler) -> None:
    """Add the search."""

    def hits(request: Request, id: str) -> list[Hit]:
        with pages.reader(request) as reader:
            found = [*_hits(settings.application, reader, id)]
        with open_reader(settings, Access.SUPPORT) as reader:  # ids of dead letters are no secret
            return [*found, *_letters(settings.application, reader, id)]

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
    commands = _rows(application, reader, COMMANDS, id=id)
    yield from {COMMANDS.hit(one) for one in commands}
    if not any(one["correlation_id"] == id for one in commands):
        yield from map(FLOWS.hit, _rows(application, reader, FLOWS, id=id))
    for source in (AGGREGATES, EVENTS, BLOCKED):
        yield from map(source.hit, _rows(application, reader, source, id=id))
    if (place := _place(id)) is not None:
        for source in BY_PLACE:
            yield from map(source.hit, _rows(application, reader, source, id=id, **place))


def _letters(application: Application, reader: Reader, id: str) -> Iterator[Hit]:
    yield from map(_letter, _rows(application, reader, LETTERS, id=id))
    if (place := _place(id)) is not None:
        yield from map(_letter, _rows(application, reader, LETTERS_BY_PLACE, **place))


def _rows(
    application: Application, reader: Reader, source: SearchSource, **asked: object
) -> list[Fields]:
    return rows(reader, source.query.replace("{types}", types(application)), MOST, **asked)


def _place(text: str) -> Fields | None:
    place = place_of(text)
    return None if place is None or max(place.partition, place.offset) > LARGEST else asdict(place)

"""Pages that are lists: commands and events with filters, and the aggregates of a type."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Response

from verdict.adapters.sql.time_text import text_of
from verdict.errors import VerdictError
from verdict.http.site import Context, RequestContext
from verdict.model.application import Application
from verdict.model.message import Fields, epoch_millis
from verdict.operations.inspect.queries import EVENT, event, response, rows
from verdict.streaming.event_log.archive import HashMismatchError

ROWS = 50  # of a page
COMMON = {
    # `|| ''` avoids the index of aggregates, with which all rows of a type would be sorted
    "aggregate_type": "aggregate_type || '' = :aggregate_type",
    "aggregate_id": "aggregate_id = :aggregate_id AND aggregate_type IN ({types})",
    "correlation_id": "correlation_id = :correlation_id",
    "since": "decided_at >= :since",
    "until": "decided_at <= :until",
}
router = APIRouter(include_in_schema=False)


class Listing(NamedTuple):
    """A list, the newest first: a SELECT, conditions by filter, and the columns of its order."""

    selected: str
    filters: Mapping[str, str]
    order: Sequence[str]

    def page(self, context: RequestContext) -> tuple[list[Fields], str | None]:
        """Return the rows of a page, and the start of the next one; None: this is the last.

        Raises:
            VerdictError: A filter or `start` is not what it must be.
        """
        asked = context.request.query_params
        given = {name: text for name in self.filters if (text := asked.get(name, "").strip())}
        values: Fields = {name: _value(name, text) for name, text in given.items()}
        conditions = [self.filters[name] for name in given]
        if start := asked.get("start"):
            values |= self._start(start)
            names = ", ".join(f":start_{number}" for number in range(len(self.order)))
            conditions += ["decided_at <= :start_0", f"({', '.join(self.order)}) <= ({names})"]
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        order = ", ".join(f"{name} DESC" for name in self.order)
        statement = f"{self.selected} {where} ORDER BY {order} LIMIT :most"
        with context.reader() as reader:
            known = statement.replace("{types}", types(context.application))
            found = rows(reader, known, ROWS + 1, **values)
        rest = ["/".join(str(one[name.strip('"')]) for name in self.order) for one in found[ROWS:]]
        return found[:ROWS], rest[0] if rest else None

    def _start(self, start: str) -> Fields:
        parts = start.split("/")
        if len(parts) != len(self.order):
            raise VerdictError(f"no page starts at {start!r}: follow the links of pages")
        numbers = [int(one) if one.isdecimal() else one for one in parts]
        return {f"start_{number}": one for number, one in enumerate(numbers)}


COMMANDS = Listing(
    "SELECT * FROM outcome",
    {
        "command_type": "command_type = :command_type",
        "outcome": "coalesce(reason, status) = :outcome",
        "rule_code": "rule_code = :rule_code",
        "actor": "actor = :actor",
    }
    | COMMON,
    ("decided_at", "topic", '"partition"', '"offset"'),
)
EVENTS = Listing(
    EVENT,
    {"event_type": "event_type = :event_type", "actor": "metadata ->> 'actor' = :actor"} | COMMON,
    ("decided_at", "global_position"),
)


def types(application: Application) -> str:
    """Return the types of aggregates as SQL: with them the index of aggregates is used."""
    return ", ".join(f"'{name}'" for name in application.aggregate_types)


def _value(name: str, text: str) -> str:
    if name not in ("since", "until"):
        return text
    try:
        given = datetime.fromisoformat(text)
    except ValueError as error:
        raise VerdictError(f"{name} is no time: {text!r}; write it as 2026-11-21T12:00") from error
    zoned = given if given.tzinfo else given.replace(tzinfo=UTC)
    return text_of(epoch_millis(zoned.isoformat()))


@router.get("/commands")
def commands(context: Context) -> Response:
    """List commands with their outcomes."""
    return _list(context, "commands", COMMANDS, response)


@router.get("/events")
def events(context: Context) -> Response:
    """List events; an altered one is shown as its row has it, with the reason."""

    def shown(row: Fields) -> Fields:
        about = {"correlation_id": row["metadata"]["correlation_id"], "altered": None}
        try:
            return event(context.application, row) | about
        except HashMismatchError as error:
            as_columns = event(context.application, row | {"value": None})
            return as_columns | about | {"altered": str(error)}

    return _list(context, "events", EVENTS, shown)


def _list(
    context: RequestContext, name: str, listing: Listing, shown: Callable[[Fields], Fields]
) -> Response:
    found, following = listing.page(context)
    asked = context.request.query_params
    given = {name: asked.get(name, "") for name in listing.filters}
    filters = {name: text for name, text in given.items() if text}
    here = context.request.url.path
    values = {
        "asked": given,
        "filtered": bool(filters),
        "first": _link(here, filters) if asked.get("start") else None,
        "next": _link(here, filters | {"start": following}) if following else None,
        "found": [*map(shown, found)],
    }
    return context.show(name, values)


@router.get("/aggregates")
def aggregates(context: Context, type: str = "", start: str = "") -> Response:
    """List the aggregates of a type by id."""
    types = context.application.aggregate_types
    kind = type if type in types else types[0]
    query = (
        f'SELECT id, version, life_cycle, decided_at FROM "{kind}_state" WHERE id >= :start '
        "ORDER BY id LIMIT :most"
    )
    with context.reader() as reader:
        found = rows(reader, query, ROWS + 1, start=start)
    rest = found[ROWS:]
    following = _link("/aggregates", {"type": kind, "start": rest[0]["id"]}) if rest else None
    values = {"kind": kind, "start": start, "found": found[:ROWS], "next": following}
    return context.show("aggregates", values)


def _link(path: str, asked: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(asked)}" if asked else path

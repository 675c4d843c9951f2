"""Pages that are lists: commands, events, aggregates of a type, and the audit."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, NamedTuple
from urllib.parse import urlencode

from fastapi import FastAPI, Query, Request, Response

from verdict.adapters.sql.readers.reader import Reader
from verdict.adapters.sql.time_text import text_of
from verdict.errors import VerdictError
from verdict.http.pages import Pages
from verdict.model.application import Application
from verdict.model.message import LARGEST, Fields, epoch_millis
from verdict.operations.inspect.queries import EVENT, event, response, some
from verdict.read_side.tables.verification import JSON
from verdict.settings.settings import Settings
from verdict.streaming.event_log.archive import HashMismatchError

ROWS = 50  # of a page
RUNS = 20  # of `verdict verify`
TIMES = ("since", "until")

# `|| ''` avoids the index of aggregates, with which all rows of a type would be sorted
OF_TYPE = "aggregate_type || '' = :aggregate_type"
BETWEEN = {"since": "decided_at >= :since", "until": "decided_at <= :until"}
ARCHIVED_OF_TYPE = """\
SELECT aggregate_id AS id, max(version) AS version, max(decided_at) AS decided_at
FROM event_archive WHERE aggregate_type = :aggregate_type AND aggregate_id >= :start
GROUP BY aggregate_id ORDER BY aggregate_id LIMIT :most"""
VERIFIED = "SELECT * FROM verification ORDER BY seq DESC LIMIT :most"
INTERVENTIONS = {  # by the view that one must be allowed to read
    "skipped_record": """\
SELECT decided_at AS at, operator AS who,
CASE kind WHEN 'SKIPPED' THEN 'skip' ELSE lower(kind) END AS kind,
topic || ':' || "partition" || ':' || "offset" || '-' || until_offset AS about,
reason AS why FROM skipped_record""",
    "aggregate_quarantined": """\
SELECT decided_at AS at, operator AS who, 'quarantine' AS kind,
aggregate_type || ' ' || aggregate_id || ' from version ' || version AS about, reason AS why
FROM aggregate_quarantined""",
    "projection_intervention": """\
SELECT at, operator AS who, kind, projection || ' v' || version || ': ' || aggregate_type || ' ' ||
aggregate_id || ' version ' || event_version AS about, reason AS why
FROM projection_intervention""",
    "dead_letter_intervention": """\
SELECT at, operator AS who, kind, 'dead letter ' || dead_letter_id AS about, reason AS why
FROM dead_letter_intervention""",
}

Number = Annotated[int, Query(ge=0, le=LARGEST // ROWS)]


class Listing(NamedTuple):
    """A list, the newest first: a SELECT, conditions by filter, and the columns of its order."""

    selected: str
    filters: Mapping[str, str]
    order: Sequence[str]

    def query(self, asked: Mapping[str, str]) -> tuple[str, Fields]:
        """Return the SELECT of the filtered rows, from `start` on, and its parameters.

        Raises:
            VerdictError: A filter or `start` is not what it must be.
        """
        given = {name: text for name in self.filters if (text := asked.get(name, "").strip())}
        values: Fields = {name: _value(name, text) for name, text in given.items()}
        conditions = [self.filters[name] for name in given]
        if start := asked.get("start"):
            values |= self._start(start)
            names = ", ".join(f":start_{number}" for number in range(len(self.order)))
            conditions += ["decided_at <= :start_0", f"({', '.join(self.order)}) <= ({names})"]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        order = ", ".join(f"{name} DESC" for name in self.order)
        return f"{self.selected}{where} ORDER BY {order} LIMIT :most", values

    def _start(self, start: str) -> Fields:
        parts = start.split("/")
        if len(parts) != len(self.order):
            raise VerdictError(f"no page starts at {start!r}: follow the links of pages")
        numbers = [int(one) if one.isdecimal() else one for one in parts]
        return {f"start_{number}": one for number, one in enumerate(numbers)}

    def page(self, reader: Reader, asked: Mapping[str, str]) -> tuple[list[Fields], str | None]:
        """Return the rows of a page, and the start of the next one; None: this is the last."""
        statement, values = self.query(asked)
        found, _ = some(reader, statement, ROWS + 1, **values)
        rest = found[ROWS:]
        names = [name.strip('"') for name in self.order]
        return found[:ROWS], "/".join(str(rest[0][name]) for name in names) if rest else None


OF_ID = "aggregate_id = :aggregate_id AND aggregate_type IN ({types})"


def _commands(application: Application) -> Listing:
    filters = {
        "aggregate_type": OF_TYPE,
        "aggregate_id": OF_ID.format(types=types(application)),
        "command_type": "command_type = :command_type",
        "outcome": "coalesce(reason, status) = :outcome",
        "rule_code": "rule_code = :rule_code",
        "actor": "actor = :actor",
        "correlation_id": "correlation_id = :correlation_id",
    }
    order = ("decided_at", "topic", '"partition"', '"offset"')
    return Listing("SELECT * FROM outcome", filters | BETWEEN, order)


def _events(application: Application) -> Listing:
    filters = {
        "aggregate_type": OF_TYPE,
        "aggregate_id": OF_ID.format(types=types(application)),
        "event_type": "event_type = :event_type",
        "actor": "metadata ->> 'actor' = :actor",
        "correlation_id": "correlation_id = :correlation_id",
    }
    return Listing(EVENT, filters | BETWEEN, ("decided_at", "global_position"))


def types(application: Application) -> str:
    """Return the types of aggregates as SQL: with them the index of aggregates is used."""
    return ", ".join(f"'{name}'" for name in application.aggregate_types)


def _value(name: str, text: str) -> str:
    if name not in TIMES:
        return text
    try:
        given = datetime.fromisoformat(text)
    except ValueError as error:
        raise VerdictError(f"{name} is no time: {text!r}; write it as 2026-11-21T12:00") from error
    zoned = given if given.tzinfo else given.replace(tzinfo=UTC)
    return text_of(epoch_millis(zoned.isoformat()))


def add_lists(page: FastAPI, settings: Settings, pages: Pages) -> None:
    """Add the lists."""
    application = settings.application
    listed_commands, listed_events = _commands(application), _events(application)

    def commands(request: Request) -> Response:
        with pages.reader(request) as reader:
            found, following = listed_commands.page(reader, request.query_params)
        about = _about(request, listed_commands, following)
        return pages.shown(request, "commands", about | {"found": [*map(response, found)]})

    def events(request: Request) -> Response:
        with pages.reader(request) as reader:
            found, following = listed_events.page(reader, request.query_params)
        about = _about(request, listed_events, following)
        shown = [_shown(application, one) for one in found]
        return pages.shown(request, "events", about | {"found": shown})

    def aggregates(request: Request, type: str = "", start: str = "") -> Response:
        kind = type if type in application.aggregate_types else application.aggregate_types[0]
        with pages.reader(request) as reader:
            bounds = {"aggregate_type": kind, "start": start}
            found, _ = some(reader, _of_type(reader, kind), ROWS + 1, **bounds)
        rest = found[ROWS:]
        following = _link("/aggregates", {"type": kind, "start": rest[0]["id"]}) if rest else None
        values = {"kind": kind, "start": start, "found": found[:ROWS], "next": following}
        return pages.shown(request, "aggregates", values)

    page.add_api_route("/commands", commands, include_in_schema=False)
    page.add_api_route("/events", events, include_in_schema=False)
    page.add_api_route("/aggregates", aggregates, include_in_schema=False)


def add_audit(page: FastAPI, pages: Pages) -> None:
    """Add the page of runs of `verdict verify` and of interventions."""

    def audit(request: Request, page: Number = 0) -> Response:
        with pages.reader(request) as reader:
            runs, _ = some(reader, VERIFIED, RUNS, JSON)
            allowed = [name for name in INTERVENTIONS if name in reader.views]
            every = " UNION ALL ".join(INTERVENTIONS[name] for name in allowed)
            statement = f"{every} ORDER BY at DESC, about LIMIT :most OFFSET :offset"
            found, more = some(reader, statement, ROWS, offset=page * ROWS)
        values = {
            "runs": runs,
            "found": found,
            "closed": sorted({*INTERVENTIONS} - {*allowed}),
            "page": page,
            "next": page + 1 if more else None,
        }
        return pages.shown(request, "audit", values)

    page.add_api_route("/audit", audit, include_in_schema=False)


def _about(request: Request, listing: Listing, following: str | None) -> Fields:
    """Return the filters, and the addresses of the first and the next page."""
    given = {name: request.query_params.get(name, "") for name in listing.filters}
    filters = {name: text for name, text in given.items() if text}
    here = request.url.path
    return {
        "asked": given,
        "filtered": bool(filters),
        "first": _link(here, filters) if request.query_params.get("start") else None,
        "next": _link(here, filters | {"start": following}) if following else None,
    }


def _link(path: str, asked: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(asked)}" if asked else path


def _shown(application: Application, row: Fields) -> Fields:
    """Return an event; an altered one as its row has it, with the reason."""
    about = {"correlation_id": row["metadata"]["correlation_id"], "altered": None}
    try:
        return event(application, row) | about
    except HashMismatchError as error:
        return event(application, row | {"value": None}) | about | {"altered": str(error)}


def _of_type(reader: Reader, kind: str) -> str:
    """Return the SELECT of the aggregates of a type, with their life cycle if a view has it."""
    view = f"{kind}_state"
    if view not in reader.views:
        return ARCHIVED_OF_TYPE
    return (
        f'SELECT id, version, life_cycle, decided_at FROM "{view}" WHERE id >= :start '
        "ORDER BY id LIMIT :most"
    )

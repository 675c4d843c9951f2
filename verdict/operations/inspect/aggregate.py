"""One aggregate: its commands and events, and its state at any version."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from verdict.adapters.sql.readers.reader import Access, Reader, open_reader
from verdict.errors import VerdictError
from verdict.model.aggregate import Aggregate
from verdict.model.application import Application
from verdict.model.message import LARGEST, Fields, Message, iso_time
from verdict.model.personal import personal_paths
from verdict.model.source import Source
from verdict.operations.inspect.flow import command_history, missing
from verdict.operations.inspect.queries import (
    EVENTS_BETWEEN,
    MOST,
    PAGE_OF_AGGREGATE,
    VERSION_BEFORE,
    event,
    response,
    rows,
    some,
)
from verdict.settings.settings import Settings
from verdict.streaming.event_log.archive import Archive, HashMismatchError
from verdict.streaming.event_log.record import PositionedEvent
from verdict.streaming.event_log.skip_log import quarantine_text
from verdict.wire.catalog import catalog_of
from verdict.wire.json import readable, readable_fields
from verdict.wire.stored_event import InvalidHistoryError, StoredEvent
from verdict.write_side.decide.fold import fold
from verdict.write_side.decide.snapshot import Snapshot

QUARANTINE = """\
SELECT version, error, operator, reason FROM aggregate_quarantined
WHERE aggregate_type = :aggregate_type AND aggregate_id = :aggregate_id"""
MOST_EVENTS = 10_000  # of a page; more is a fault


class NotFoundError(VerdictError):
    """Nothing is known of an aggregate, or of a version of it, as far as the archive goes."""


class AggregateHistory(NamedTuple):
    """Commands to one aggregate, the oldest first, each with its `response` and its `events`.

    `more`: there are older ones. `missing` says what is lost, altered or not archived yet.
    `complete`: this is all that there is.
    """

    commands: list[Fields]
    more: bool
    missing: tuple[str, ...]
    complete: bool


def history(
    application: Application,
    reader: Reader,
    aggregate_type: str,
    aggregate_id: str,
    most: int = MOST,
    offset: int = 0,
) -> AggregateHistory:
    """Return the newest commands to an aggregate with their events, each checked with its hash.

    Each event is on one page, even if the outcome of its command is missing.
    """
    about = {"aggregate_type": aggregate_type, "aggregate_id": aggregate_id}

    def version(offset: int) -> int:
        """Return the last version that the commands from there on know of."""
        [known] = rows(reader, VERSION_BEFORE, LARGEST, offset=offset, **about)
        return known["version"] or 0

    newest, more = some(reader, PAGE_OF_AGGREGATE, most, offset=offset, **about)
    span = {
        "after": version(min(offset + most, LARGEST)),
        "version": version(offset) if offset else LARGEST,
    }
    found, cut = some(reader, EVENTS_BETWEEN, max(most, MOST_EVENTS), **about, **span)
    events, altered = _checked(application, found)
    commands = [*command_history(map(response, reversed(newest)), events)]
    is_whole = not (more or offset or cut)
    lacking = missing(commands, altered) if is_whole else ()
    named = f"{aggregate_type} {aggregate_id!r}"
    quarantined = (quarantine_text(named, **one) for one in rows(reader, QUARANTINE, **about))
    said = (*altered.values(), *lacking, *quarantined)
    return AggregateHistory(commands, more, said, is_whole and not said)


def _checked(
    application: Application, found: Iterable[Fields]
) -> tuple[list[Fields], dict[int, str]]:
    """Return the events, and by version what is wrong with those that were altered."""
    events: list[Fields] = []
    altered: dict[int, str] = {}
    for row in found:
        try:
            events.append(event(application, row))
        except HashMismatchError as error:
            altered[row["version"]] = str(error)
    return events, altered


def folded(
    rules: Aggregate[Any],
    about: str,
    history: Iterable[PositionedEvent],
    version: int | None = None,
    until: int | None = None,
) -> tuple[dict[int, Source], Snapshot[Any]]:
    """Return the position of each version that was read, and what the aggregate was then.

    Events count up to a version, or those decided up to a time (epoch milliseconds).
    """
    places: dict[int, Source] = {}

    def stored() -> Iterator[StoredEvent]:
        for placed in history:
            places.setdefault(placed.version, placed.place)
            yield placed.stored

    try:
        return places, fold(rules, stored(), version, until)
    except InvalidHistoryError as broken:
        raise VerdictError(f"{about}: {broken}; its state is unknown") from broken


def state_json(
    aggregate_type: str, aggregate_id: str, snapshot: Snapshot[Any], place: Source | None
) -> Fields:
    """Return what an aggregate is, or was, as an object for JSON; nothing of it is masked."""
    return {
        "aggregate_type": aggregate_type,
        "aggregate_id": aggregate_id,
        "version": snapshot.version,
        "life_cycle": snapshot.life_cycle.value,
        "decided_at": iso_time(snapshot.decided_at) if place else None,
        "position": place and readable(place),
        "state": snapshot.state and readable_fields(snapshot.state),
    }


def state_at(
    settings: Settings,
    sees: Access,
    aggregate_type: str,
    aggregate_id: str,
    version: int | None = None,
    until: int | None = None,
) -> Fields:
    """Return what an aggregate was after a version, or after the last one that is archived."""
    about = f"{aggregate_type} {aggregate_id!r}"
    if aggregate_type not in settings.application.aggregate_types:
        raise NotFoundError(f"there is no {about}: no aggregate has this type")
    with open_reader(settings, Access.AUDITOR) as reader:
        archive = Archive(reader)
        context = catalog_of(settings.application)[aggregate_type]
        placed = [*archive.history(context, aggregate_id)]
    places, snapshot = folded(context.aggregate, about, placed, version, until)
    if not placed:
        raise NotFoundError(f"there is no {about}: the archive has no event of it")
    if snapshot.version < (version or 0):
        when = "archived up to" if until is None else "at that time at"
        raise NotFoundError(f"{about} is {when} version {snapshot.version}, not {version}")
    shown = state_json(aggregate_type, aggregate_id, snapshot, places.get(snapshot.version))
    state: Message | None = snapshot.state
    if sees is Access.READER and state is not None:
        for path in personal_paths(type(state)):
            _hide(shown["state"], path)
    return shown


def _hide(shown: Any, path: tuple[str, ...]) -> None:
    first, *rest = path
    if rest and isinstance(shown.get(first), dict):
        _hide(shown[first], tuple(rest))
    elif first in shown:
        shown[first] = None

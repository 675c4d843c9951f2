"""One aggregate's life: what was asked of it, what happened, what it was at any version."""

import logging
from functools import partial
from typing import Any

from verdict.configuration.found import kafka_options
from verdict.configuration.settings import Settings
from verdict.decision.shown import state_shown
from verdict.errors import VerdictError
from verdict.event_log.archive import Archive
from verdict.event_log.chapters import Fields, chapters, nowhere, place_of
from verdict.event_log.decisions import read_decisions
from verdict.event_log.folding import Moment, folded
from verdict.model.application import Application
from verdict.model.message import LARGEST, Message
from verdict.model.personal import personal_paths
from verdict.page.asked import (
    ACCEPTED_SINCE,
    EVENTS_BETWEEN,
    EVENTS_OF_AGGREGATE,
    MOST,
    OF_AGGREGATE,
    PAGE_OF_AGGREGATE,
    VERSION_BEFORE,
    event,
    response,
    rows,
    some,
)
from verdict.reading.reader import Reader, Sees, reader_of
from verdict.wire.catalog import catalog_of

MOST_EVENTS = 10_000  # of a page; more is some fault's doing
LOG = logging.getLogger("verdict.page")


class NotThere(VerdictError):
    """Nothing is known of an aggregate, or of a version of it, as far as the archive goes."""


def life(
    application: Application,
    reader: Reader,
    aggregate_type: str,
    aggregate_id: str,
    most: int = MOST,
) -> tuple[list[Fields], bool]:
    """Return the newest commands to an aggregate, the oldest of them first, with their events.

    And whether there are more. Of each event that is told its command is too, however many were
    refused since.

    Args:
        application: Whose aggregate it is.
        reader: Of the read side, which says how far it tells and what is masked.
        aggregate_type: Of the aggregate.
        aggregate_id: Its id.
        most: How many commands, and how many events.
    """
    ask = partial(some, reader, aggregate_type=aggregate_type, aggregate_id=aggregate_id)
    events, more_events = ask(EVENTS_OF_AGGREGATE, most)
    newest, more = ask(OF_AGGREGATE, most)
    behind = ask(ACCEPTED_SINCE, most, version=events[-1]["version"])[0] if more and events else []
    known = {place_of(one): one for one in (*behind, *reversed(newest))}
    told = sorted(known.values(), key=lambda one: (one["decided_at"], one["offset"]))
    found = chapters((), map(response, told), map(partial(event, application), reversed(events)))
    return [*found], more or more_events


def page_of_life(
    application: Application,
    reader: Reader,
    aggregate_type: str,
    aggregate_id: str,
    most: int,
    offset: int,
) -> tuple[list[Fields], bool, bool]:
    """Return so many commands to an aggregate, the oldest of them first, with their events.

    And whether there are older ones, and whether this is all there is. Each event is on one page,
    if nothing is asked meanwhile, also when the outcome of its command is nowhere.

    Args:
        application: As for `life`.
        reader: As for `life`.
        aggregate_type: Of the aggregate.
        aggregate_id: Its id.
        most: How many commands.
        offset: How many newer ones there are on other pages.
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
    events, cut = some(reader, EVENTS_BETWEEN, MOST_EVENTS, **about, **span)
    found = [
        *chapters((), map(response, reversed(newest)), map(partial(event, application), events))
    ]
    return found, more, not (more or offset or cut or any(nowhere(found)))


def state_at(
    settings: Settings,
    sees: Sees,
    aggregate_type: str,
    aggregate_id: str,
    version: int | None = None,
    until: int | None = None,
) -> Fields:
    """Return what an aggregate was after a version, else after its last one that is archived.

    Args:
        settings: Of the deployment.
        sees: Who only reads finds null in the place of what is personal.
        aggregate_type: Of the aggregate.
        aggregate_id: Its id.
        version: 0: before its first event.
        until: Count what was decided then or before, in epoch milliseconds.

    Versions that people decided to pass over are none to it, as for `verdict state`; Kafka is
    asked for these decisions where a version is missing.

    Raises:
        NotThere: The archive has no such version, or nothing of the aggregate.
        VerdictError: Its events do not hold together.
        Unreachable: The read side cannot be asked.
    """
    about = f"{aggregate_type} {aggregate_id!r}"
    if aggregate_type not in (known := settings.application.aggregate_types):
        raise NotThere(f"there is no aggregate {aggregate_type!r}: there are {', '.join(known)}")
    with reader_of(settings, Sees.AUDITOR) as reader:
        archive = Archive(reader)
        context = catalog_of(settings.application)[aggregate_type]
        placed = [*archive.history(context, aggregate_id)]
        lost = archive.lost(aggregate_type, aggregate_id)
    places, snapshot = folded(
        context.aggregate,
        about,
        placed,
        Moment(version, until),
        lambda: read_decisions(kafka_options(settings), settings.topics),
        lost,
        LOG.warning,
    )
    if not (placed or lost):
        raise NotThere(f"there is no {about}: the archive has no event of it")
    if snapshot.version < (version or 0):
        when = "archived up to" if until is None else "at that time at"
        raise NotThere(f"{about} is {when} version {snapshot.version}, not {version}")
    told = state_shown(aggregate_type, aggregate_id, snapshot, places.get(snapshot.version))
    state: Message | None = snapshot.state
    if sees is Sees.READER and state is not None:
        for path in personal_paths(type(state)):
            _hide(told["state"], path)
    return told


def _hide(shown: Any, path: tuple[str, ...]) -> None:
    first, *rest = path
    if rest and isinstance(shown.get(first), dict):
        _hide(shown[first], tuple(rest))
    elif first in shown:
        shown[first] = None

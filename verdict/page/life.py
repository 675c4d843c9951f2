"""One aggregate's life: what was asked of it, what happened, what it was at any version."""

from functools import partial
from typing import Any

from verdict.configuration.settings import Settings
from verdict.decision.history import Broken, fold
from verdict.decision.shown import state_shown
from verdict.errors import VerdictError
from verdict.event_log.archive import Archive
from verdict.event_log.chapters import Fields, chapters
from verdict.model.message import LARGEST, Message
from verdict.model.personal import personal_paths
from verdict.page.asked import EVENTS_OF_AGGREGATE, OF_AGGREGATE, event, response, rows
from verdict.reading.reader import Reader, Sees, reader_of


class NotThere(VerdictError):
    """Nothing is known of an aggregate, or of a version of it, as far as the archive goes."""


def life(
    reader: Reader, aggregate_type: str, aggregate_id: str, up_to: int = LARGEST
) -> list[Fields]:
    """Return the newest commands to an aggregate, the oldest of them first, with their events.

    Args:
        reader: Of the read side, which says how far it tells and what is masked.
        aggregate_type: Of the aggregate.
        aggregate_id: Its id.
        up_to: The last version that is told.
    """
    ask = partial(rows, reader, aggregate_type=aggregate_type, aggregate_id=aggregate_id)
    events = [event(row) for row in ask(EVENTS_OF_AGGREGATE, version=up_to)]
    outcomes = [response(row) for row in ask(OF_AGGREGATE)]
    met = (one for one in outcomes if (one["from_version"] or 0) <= up_to)
    return [*chapters((), reversed([*met]), reversed(events))]


def state_at(
    settings: Settings,
    sees: Sees,
    aggregate_type: str,
    aggregate_id: str,
    version: int | None = None,
) -> Fields:
    """Return what an aggregate was after a version, else after its last one that is archived.

    Args:
        settings: Of the deployment.
        sees: Who only reads finds null in the place of what is personal.
        aggregate_type: Of the aggregate.
        aggregate_id: Its id.
        version: 0: before its first event.

    Raises:
        NotThere: The archive has no such version, or nothing of the aggregate.
        VerdictError: Its events do not hold together.
        Unreachable: The read side cannot be asked.
    """
    about = f"{aggregate_type} {aggregate_id!r}"
    with reader_of(settings, Sees.AUDITOR) as reader:
        placed = [*Archive(reader).history(aggregate_type, aggregate_id)]
    try:
        snapshot = fold((one.stored for one in placed), version)
    except Broken as broken:
        raise VerdictError(f"{about}: {broken}; no state can be told") from broken
    if not placed:
        raise NotThere(f"there is no {about}: the archive has no event of it")
    if snapshot.version < (version or 0):
        raise NotThere(f"{about} is archived up to version {snapshot.version}, not {version}")
    place = next((one.place for one in placed if one.version == snapshot.version), None)
    told = state_shown(aggregate_type, aggregate_id, snapshot, place)
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

"""An aggregate folded from its events, with their places."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from verdict.decision.history import InvalidHistoryError, fold
from verdict.decision.recording import StoredEvent
from verdict.decision.snapshot import Snapshot
from verdict.errors import VerdictError
from verdict.event_log.placed import PositionedEvent
from verdict.model.aggregate import Aggregate
from verdict.model.source import Source


class PointInTime(NamedTuple):
    """Which events count: up to a version, or those decided up to a time (epoch milliseconds)."""

    version: int | None = None
    until: int | None = None


def folded(
    rules: Aggregate[Any], about: str, history: Iterable[PositionedEvent], moment: PointInTime
) -> tuple[dict[int, Source], Snapshot[Any]]:
    """Return the place of each version that was read, and what the aggregate was then.

    Args:
        rules: Of the aggregate.
        about: The aggregate, for people.
        history: Its events.
        moment: Which of them count.

    Raises:
        VerdictError: The history is damaged.
    """
    places: dict[int, Source] = {}

    def noted() -> Iterator[StoredEvent]:
        for placed in history:
            places.setdefault(placed.version, placed.place)
            yield placed.stored

    try:
        return places, fold(rules, noted(), *moment)
    except InvalidHistoryError as broken:
        raise VerdictError(f"{about}: {broken}; no state can be told") from broken

"""An aggregate folded from its events, with their places."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from verdict.errors import VerdictError
from verdict.model.aggregate import Aggregate
from verdict.model.source import Source
from verdict.streaming.event_log.record import PositionedEvent
from verdict.wire.stored_event import InvalidHistoryError, StoredEvent
from verdict.write_side.decide.fold import fold
from verdict.write_side.decide.snapshot import Snapshot


class PointInTime(NamedTuple):
    """Which events count: up to a version, or those decided up to a time (epoch milliseconds)."""

    version: int | None = None
    until: int | None = None


def folded(
    rules: Aggregate[Any], about: str, history: Iterable[PositionedEvent], moment: PointInTime
) -> tuple[dict[int, Source], Snapshot[Any]]:
    """Return the place of each version that was read, and what the aggregate was then.

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

"""An aggregate folded from its events, over the versions that people decided to pass over."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from verdict.decision.history import Broken, fold
from verdict.decision.recording import StoredEvent
from verdict.decision.snapshot import Snapshot
from verdict.errors import VerdictError
from verdict.event_log.chapters import in_ranges
from verdict.event_log.decided import by_decision, in_words
from verdict.event_log.placed import Placed
from verdict.model.source import Source
from verdict.wire.decision import Decision


def folded(
    about: str,
    history: Iterable[Placed],
    at_version: int | None,
    until: int | None,
    decisions: Callable[[], Sequence[Decision]],
    tell: Callable[[str], None],
) -> tuple[dict[int, Source], Snapshot[Any]]:
    """Return the place of each version that was read, and what the aggregate was then.

    What people decided is asked for where a version is missing only, and told.

    Raises:
        VerdictError: The events do not hold together, and nobody decided so.
    """
    places: dict[int, Source] = {}
    jumped = set[int]()

    def noted() -> Iterator[StoredEvent]:
        for placed in history:
            is_behind_gap = placed.version > max(places, default=0) + 1
            places.setdefault(placed.version, placed.place)
            if is_behind_gap and (words := _passed_over(places, placed, decisions())):
                tell(f"{about}: {words}")
                jumped.add(placed.version)
            yield placed.stored

    try:
        return places, fold(noted(), at_version, until, jumped)
    except Broken as broken:
        raise VerdictError(f"{about}: {broken}; no state can be told") from broken


def _passed_over(
    places: Mapping[int, Source], placed: Placed, decisions: Sequence[Decision]
) -> str | None:
    """Return in words who decided that the versions right before an event are passed over."""
    at = placed.place.topic, placed.place.partition
    of_it = [d for d in decisions if (d.source.topic, d.source.partition) == at]
    decided = by_decision(places, placed.version, of_it)
    before = max((version for version in places if version < placed.version), default=0)
    missing = range(before + 1, placed.version)
    if missing[-1] not in decided:
        return None
    return in_words(in_ranges(missing), decided[missing[-1]])

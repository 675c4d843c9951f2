"""An aggregate folded from its events, over the versions that people decided to pass over."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from verdict.decision.history import Broken, fold
from verdict.decision.recording import StoredEvent
from verdict.decision.snapshot import NEVER_EXISTED, Snapshot
from verdict.errors import VerdictError
from verdict.event_log.chapters import in_ranges
from verdict.event_log.decided import by_decision, in_words, lost_in_words
from verdict.event_log.placed import Placed
from verdict.model.aggregate import Aggregate
from verdict.model.source import Source
from verdict.wire.decision import Decision


class Moment(NamedTuple):
    """Which events count: up to a version, or those decided up to a time (epoch milliseconds)."""

    version: int | None = None
    until: int | None = None

    def knows(self, made: Decision) -> bool:
        """Tell whether the aggregate that is lost by a decision was so then."""
        assert made.lost is not None
        is_so = self.version is None or self.version >= made.lost.version
        return is_so and (self.until is None or self.until >= made.decided_at)


def folded(  # noqa: PLR0913  (a fold, and all that may stand in for what it lacks)
    rules: Aggregate[Any],
    about: str,
    history: Iterable[Placed],
    moment: Moment,
    decisions: Callable[[], Sequence[Decision]],
    lost: Sequence[Decision],
    tell: Callable[[str], None],
) -> tuple[dict[int, Source], Snapshot[Any]]:
    """Return the place of each version that was read, and what the aggregate was then.

    What people decided is asked for where a version is missing only, and told.

    Args:
        rules: Of the aggregate.
        about: The aggregate, for people.
        history: Its events.
        moment: Which of them count.
        decisions: Gives all.
        lost: Those by which this aggregate counts as deleted.
        tell: Told of decisions that count.

    Raises:
        VerdictError: The events do not hold together, and nobody decided so.
    """
    places: dict[int, Source] = {}
    start = _start([one for one in lost if moment.knows(one)], about, tell)
    jumped = {start.version + 1} if start.version else set[int]()

    def noted() -> Iterator[StoredEvent]:
        for placed in history:
            is_behind_gap = placed.version > max([start.version, *places]) + 1
            places.setdefault(placed.version, placed.place)
            if is_behind_gap and (words := _passed_over(places, placed, decisions())):
                tell(f"{about}: {words}")
                jumped.add(placed.version)
            yield placed.stored

    try:
        return places, fold(rules, noted(), *moment, jumped, start)
    except Broken as broken:
        raise VerdictError(f"{about}: {broken}; no state can be told") from broken


def _start(lost: Sequence[Decision], about: str, tell: Callable[[str], None]) -> Snapshot[Any]:
    """Return what the aggregate was at first; told where nothing before that counts."""
    versions = {one.lost.version: one for one in lost if one.lost is not None}
    if not versions:
        return NEVER_EXISTED
    version, made = max(versions.items())
    tell(f"{about}: {lost_in_words(made)}")
    return Snapshot(version, None, b"", made.decided_at)


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

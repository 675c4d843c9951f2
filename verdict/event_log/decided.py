"""Versions of an aggregate that are missing where people decided to pass records over; pure."""

import sys
from collections.abc import Mapping, Sequence

from verdict.event_log.decisions import passed_over
from verdict.model.source import Source
from verdict.wire.decision import Decision
from verdict.wire.spans import Partition, Span


def by_decision(
    places: Mapping[int, Source],
    reached: int,
    decisions: Sequence[Decision],
    lost: Sequence[Decision] = (),
) -> dict[int, Decision]:
    """Return those of an aggregate's missing versions that are so by a decision, with that one.

    Whose event lay at such a place nobody can read: versions count as long as no more of them are
    missing between two events than places are passed over there. Or somebody has accepted that
    all up to a version are lost.

    Args:
        places: By version, where the events lie that are there.
        reached: The last version that is known of.
        decisions: About the partition on which they lie.
        lost: Those by which this aggregate counts as deleted: all up to a version may be missing.
    """
    found: dict[int, Decision] = {}
    last = start = 0
    for version in [*sorted(places), max([reached, *places]) + 1]:
        end = places[version].offset if version in places else sys.maxsize
        between = [one for one in decisions if one.source.offset < end and one.until > start]
        missing = range(last + 1, version)
        if missing and len(missing) <= _count(between, Span(start, end)):
            found |= dict.fromkeys(missing, between[0])
        for one in lost:
            found |= {v: one for v in missing if one.lost is not None and v <= one.lost.version}
        last, start = version, end + 1
    return found


def in_words(versions: str, decision: Decision) -> str:
    """Return who decided that some versions are passed over, where and why."""
    who, why = decision.who, decision.why
    return f"version {versions} is passed over: {who} decided so about {decision.source} ({why})"


def lost_in_words(decision: Decision) -> str:
    """Return who decided that an aggregate counts as deleted, at which version and why."""
    lost, who, why = decision.lost, decision.who, decision.why
    assert lost is not None
    return (
        f"nobody can tell what it was at version {lost.version}, up to which events are lost: it "
        f"counts as deleted, as {who} decided ({why})"
    )


def _count(decisions: Sequence[Decision], span: Span) -> int:
    if not decisions:
        return 0
    place = Partition.of(decisions[0].source)
    return passed_over(decisions).count(place, span)

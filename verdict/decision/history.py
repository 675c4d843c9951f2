"""From an aggregate's recorded events to what it was after them; pure."""

from collections.abc import Collection, Iterable
from hashlib import sha256
from typing import Any

from verdict.decision.recording import StoredEvent
from verdict.decision.snapshot import NEVER_EXISTED, Snapshot
from verdict.model.aggregate import Aggregate


class Broken(Exception):
    """A record is not what verdict writes, or a history does not hold together."""


class RulesFail(Broken):
    """The rules do not take an event where it lies."""


def after(rules: Aggregate[Any], snapshot: Snapshot[Any], stored: StoredEvent) -> Snapshot[Any]:
    """Return the aggregate after its next event.

    Raises:
        Broken: The event does not follow on the ones before it, or the rules fail at it.
    """
    event = stored.event
    if event.version != snapshot.version + 1:
        raise Broken(f"version {event.version} follows version {snapshot.version}")
    if event.previous_hash != snapshot.last_hash:
        raise Broken(
            f"version {event.version} carries the hash {event.previous_hash.hex()[:16]} of the "
            f"event before it, which has {snapshot.last_hash.hex()[:16]}: one was altered"
        )
    try:
        state = rules.evolve(snapshot.state, event.payload)
    except Exception as error:  # `evolve` is total over what was decided by these rules
        raise RulesFail(f"the rules fail at version {event.version}: {error!r}") from error
    return Snapshot(event.version, state, sha256(stored.value).digest(), event.decided_at)


def right_before(snapshot: Snapshot[Any], stored: StoredEvent) -> Snapshot[Any]:
    """Return the aggregate as if the event were its next one: those between are passed over."""
    event = stored.event
    return snapshot._replace(version=event.version - 1, last_hash=event.previous_hash)


def twice(version: int, one: str, other: str) -> str:
    """Return what is wrong where a version is there with two events, by their ids."""
    return f"version {version} is there twice, as the events {one} and {other}"


def fold(
    rules: Aggregate[Any],
    history: Iterable[StoredEvent],
    at_version: int | None = None,
    at: int | None = None,
    jumped: Collection[int] = (),
    start: Snapshot[Any] = NEVER_EXISTED,
) -> Snapshot[Any]:
    """Return what one aggregate is after its events, or was.

    Args:
        rules: Of the aggregate.
        history: Its events from the first one on, in order; one that was there before is passed
            over. No more of them are taken than are needed.
        at_version: Stop after this version.
        at: Stop before the first event that was decided later than this, in epoch milliseconds.
        jumped: Versions that count though those right before them are missing, as people decided.
        start: What it was at first, if nothing before that counts.

    Returns:
        The snapshot; its version is less than `at_version` when there are no more events.

    Raises:
        Broken: Versions have a gap, or are there twice with other events, the chain of hashes does
            not hold, or the rules fail.
    """
    snapshot = start
    seen: dict[int, str] = {}
    if at_version == 0:
        return snapshot
    for stored in history:
        event_id = stored.event.event_id
        if (first := seen.setdefault(stored.event.version, event_id)) != event_id:
            raise Broken(twice(stored.event.version, first, event_id))
        if stored.event.version <= snapshot.version:
            continue
        if at is not None and stored.event.decided_at > at:
            break
        if stored.event.version in jumped:
            if at_version is not None and stored.event.version > at_version:
                break
            snapshot = right_before(snapshot, stored)
        snapshot = after(rules, snapshot, stored)
        if snapshot.version == at_version:
            break
    return snapshot

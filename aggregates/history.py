"""From an aggregate's recorded events to what it was after them; pure."""

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from aggregates.decider import decider_of
from aggregates.recording import StoredEvent
from aggregates.snapshot import NEVER_EXISTED, Snapshot


class Broken(Exception):
    """A record is not what verdict writes, or a history does not hold together."""


def after(snapshot: Snapshot[Any], stored: StoredEvent) -> Snapshot[Any]:
    """Return the aggregate after its next event.

    Raises:
        Broken: The event does not follow on the ones before it.
        Exception: The rules fail.
    """
    event = stored.event
    if event.version != snapshot.version + 1:
        raise Broken(f"version {event.version} follows version {snapshot.version}")
    if event.previous_hash != snapshot.last_hash:
        raise Broken(
            f"version {event.version} carries the hash {event.previous_hash.hex()[:16]} of the "
            f"event before it, which has {snapshot.last_hash.hex()[:16]}: one was altered"
        )
    return Snapshot(
        event.version,
        decider_of(event.aggregate_type).evolve(snapshot.state, event.payload),
        sha256(stored.value).digest(),
        event.decided_at,
    )


def fold(
    history: Iterable[StoredEvent], at_version: int | None = None, at: int | None = None
) -> Snapshot[Any]:
    """Return what one aggregate is after its events, or was.

    Args:
        history: Its events from the first one on, in order; one that was there before is passed
            over. No more of them are taken than are needed.
        at_version: Stop after this version.
        at: Stop before the first event that was decided later than this, in epoch milliseconds.

    Returns:
        The snapshot; its version is less than `at_version` when there are no more events.

    Raises:
        Broken: Versions have a gap, or the chain of hashes does not hold.
    """
    snapshot: Snapshot[Any] = NEVER_EXISTED
    if at_version == 0:
        return snapshot
    for stored in history:
        if stored.event.version <= snapshot.version:
            continue
        if at is not None and stored.event.decided_at > at:
            break
        snapshot = after(snapshot, stored)
        if snapshot.version == at_version:
            break
    return snapshot

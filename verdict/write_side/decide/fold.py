"""From the recorded events of an aggregate to its snapshot; pure."""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

from verdict.model.aggregate import Aggregate
from verdict.wire.stored_event import InvalidHistoryError, StoredEvent
from verdict.write_side.decide.snapshot import NEVER_EXISTED, Snapshot


def fold_event(
    rules: Aggregate[Any], snapshot: Snapshot[Any], stored: StoredEvent
) -> Snapshot[Any]:
    """Return the aggregate after its next event; InvalidHistoryError: it does not follow."""
    event, expected = stored.event, snapshot.version + 1
    if event.version != expected:
        raise InvalidHistoryError(
            f"version {event.version} follows version {snapshot.version}", expected
        )
    if event.previous_hash != snapshot.last_hash:
        raise InvalidHistoryError(
            f"version {event.version} carries the hash {event.previous_hash.hex()[:16]} of the "
            f"event before it, which has {snapshot.last_hash.hex()[:16]}: one was altered",
            expected,
        )
    try:
        state = rules.evolve(snapshot.state, event.payload)
    except Exception as error:  # `evolve` is total over what was decided by these rules
        raise InvalidHistoryError(
            f"the rules fail at version {event.version}: {error!r}", expected
        ) from error
    return Snapshot(event.version, state, sha256(stored.value).digest(), event.decided_at)


def fold(
    rules: Aggregate[Any],
    history: Iterable[StoredEvent],
    at_version: int | None = None,
    at: int | None = None,
) -> Snapshot[Any]:
    """Return what one aggregate is after its events, or was at a version or time.

    InvalidHistoryError: a version is missing or has two events, the chain of hashes does not hold,
    or the rules fail.
    """
    snapshot, hashes = NEVER_EXISTED, list[bytes]()
    if at_version == 0:
        return snapshot
    for stored in _by_version(history):
        version = stored.event.version
        if 0 < version <= snapshot.version:
            if (digest := sha256(stored.value).digest()) != hashes[version - 1]:
                raise InvalidHistoryError(
                    f"version {version} is there twice with different bytes, of the hashes "
                    f"{hashes[version - 1].hex()[:16]} and {digest.hex()[:16]}",
                    version,
                )
            continue
        if at is not None and stored.event.decided_at > at:
            break
        snapshot = fold_event(rules, snapshot, stored)
        hashes.append(snapshot.last_hash)
        if snapshot.version == at_version:
            break
    return snapshot


def _by_version(history: Iterable[StoredEvent]) -> Iterator[StoredEvent]:
    """Yield events as soon as all earlier versions came; those after a gap at the end.

    An event that was lost and appended again comes after later ones.
    """
    wanted, early = 1, dict[int, list[StoredEvent]]()
    for stored in history:
        if stored.event.version > wanted:
            early.setdefault(stored.event.version, []).append(stored)
            continue
        yield stored
        wanted += stored.event.version == wanted
        while wanted in early:
            yield from early.pop(wanted)
            wanted += 1
    for version in sorted(early):
        yield from early[version]

"""From an aggregate's recorded events to its snapshot, checked on the way. Pure."""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from aggregates.decider import decider_of
from aggregates.operator.shard_state import Entry, snapshot_key
from aggregates.snapshot import NEVER_EXISTED, Snapshot, snapshot_codec
from schemas.recorded_event import RecordedEvent
from schemas.wire.records import decode_event


class Broken(Exception):
    """A record is not what verdict writes, or a history does not hold together."""


class Stored(NamedTuple):
    """A record of an events or responses topic."""

    aggregate_type: str
    topic: str
    partition: int
    offset: int
    key: bytes
    value: bytes

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} offset {self.offset}, aggregate {self.key!r}"


class Folded(NamedTuple):
    """What one aggregate, or one response, gave: an entry of the state, or why there is none."""

    of: Stored
    key: bytes | None
    entry: Entry
    fault: str | None


def snapshots(events: Iterable[Stored]) -> Iterator[Folded]:
    """Yield the snapshot of each aggregate; holds one event and one state at a time.

    Args:
        events: By aggregate, each one's by partition and offset.

    Yields:
        The entry of the shard's state, byte for byte what the operator would have stored; a
        fault when versions have a gap, the chain of hashes is broken, or a record is unreadable.
    """
    for (aggregate_type, _), history in groupby(events, key=attrgetter("aggregate_type", "key")):
        last, snapshot = None, NEVER_EXISTED
        try:
            for last in history:
                snapshot = after(snapshot, last)
            assert last is not None  # a group has at least one
            key = snapshot_key(aggregate_type, last.key.decode())
            stored = snapshot_codec(aggregate_type).encode(snapshot)
            yield Folded(last, key, Entry(stored), None)
        except Exception as error:
            assert last is not None
            yield Folded(last, None, Entry(b""), f"{last}: {_said(error)}")


def after(snapshot: Snapshot[Any], stored: Stored) -> Snapshot[Any]:
    """Return the aggregate after its next event.

    Raises:
        Broken: The event does not follow on the ones before it.
        Exception: It cannot be decoded, or the rules fail.
    """
    event = decode_event(stored.aggregate_type, stored.value)
    _check(event, snapshot, stored)
    return Snapshot(
        event.version,
        decider_of(stored.aggregate_type).evolve(snapshot.state, event.payload),
        sha256(stored.value).digest(),
        event.decided_at,
    )


def _check(event: RecordedEvent, snapshot: Snapshot[Any], stored: Stored) -> None:
    if (event.aggregate_type, event.aggregate_id.encode()) != (stored.aggregate_type, stored.key):
        raise Broken(f"holds an event of {event.aggregate_type} {event.aggregate_id!r}")
    if event.version != snapshot.version + 1:
        raise Broken(f"version {event.version} follows version {snapshot.version}")
    if event.previous_hash != snapshot.last_hash:
        raise Broken(
            f"version {event.version} carries the hash {event.previous_hash.hex()[:16]} of the "
            f"event before it, which has {snapshot.last_hash.hex()[:16]}: one was altered"
        )


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, Broken) else f"{type(error).__name__}: {error}"

"""From an aggregate's recorded events to its snapshot, checked on the way. Pure."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from aggregates import history
from aggregates.history import Broken
from aggregates.operator.shard_state import Entry, snapshot_key
from aggregates.recording import StoredEvent
from aggregates.snapshot import NEVER_EXISTED, Snapshot, snapshot_codec
from schemas.wire.records import decode_event


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
    by_aggregate = attrgetter("aggregate_type", "key")
    for (aggregate_type, _), events_of_one in groupby(events, key=by_aggregate):
        last, snapshot = None, NEVER_EXISTED
        try:
            for last in events_of_one:
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
    if (event.aggregate_type, event.aggregate_id.encode()) != (stored.aggregate_type, stored.key):
        raise Broken(f"holds an event of {event.aggregate_type} {event.aggregate_id!r}")
    return history.after(snapshot, StoredEvent(event, stored.value))


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, Broken) else f"{type(error).__name__}: {error}"

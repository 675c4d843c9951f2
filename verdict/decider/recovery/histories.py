"""From an aggregate's recorded events to its snapshot, checked on the way. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import groupby
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from verdict.decision import history
from verdict.decision.history import Broken, RulesFail
from verdict.decision.recording import StoredEvent
from verdict.decision.snapshot import NEVER_EXISTED, Snapshot, snapshot_codec
from verdict.operator.shard_state import Entry, snapshot_key
from verdict.wire.records import decode_event


class Stored(NamedTuple):
    """A record of an events or responses topic, which people may have decided to pass over.

    `behind_hole`: it is accepted with this run that versions before it may be missing, or those
    that it tells of.
    """

    aggregate_type: str
    topic: str
    partition: int
    offset: int
    key: bytes
    value: bytes
    timestamp: int = 0  # Kafka's, in milliseconds
    passed_over: bool = False
    behind_hole: bool = False

    def __str__(self) -> str:
        return f"{self.topic}:{self.partition}:{self.offset}, aggregate {self.key!r}"


class Stand(NamedTuple):
    """How far an aggregate's events go: its version, and the hash of the last one's bytes."""

    version: int
    last_hash: bytes | None


Lost = Mapping[tuple[str, str], int]
"""By aggregate type and id, up to which version it is lost."""

HOLE = (
    "name the read side whose archive has what is missing with --database-url, or go on behind the "
    "hole with `verdict recover --accept-lost --why …`"
)
DECIDED = Stand(-1, None)  # where the end was passed over, now or once, responses do not count


class Folded(NamedTuple):
    """What one aggregate, or one response, gave: an entry of the state, or why there is none.

    `stand` is that of a snapshot, or with neither entry nor fault what a response says of one;
    `instead` is what the state has if events up to there are nowhere, and that is accepted. Up to
    the version `lost` that is so already, as nobody can tell what it is behind a hole.
    """

    of: Stored
    key: bytes
    entry: Entry | None
    fault: str | None = None
    stand: Stand | None = None
    instead: bytes | None = None
    lost: int = 0


class Reached(NamedTuple):
    """What an aggregate is on the way through its events, and up to which version it is lost."""

    snapshot: Snapshot[Any] = NEVER_EXISTED
    lost: int = 0


def snapshots(events: Iterable[Stored], lost: Lost = MappingProxyType({})) -> Iterator[Folded]:
    """Yield the snapshot of each aggregate; holds one event and one state at a time.

    Args:
        events: By aggregate, each one's by partition and offset.
        lost: What is on record as lost, since a recovery of before.

    Yields:
        The entry of the shard's state, byte for byte what the operator would have stored; a
        fault when versions have a gap, the chain of hashes is broken, or a record is unreadable.
        Where one was passed over, the next event counts whatever its version and its hash. Behind a
        hole an aggregate is as one that was deleted, and begins anew as soon as the rules let it.
    """
    by_aggregate = attrgetter("aggregate_type", "key")
    for (aggregate_type, name), events_of_one in groupby(events, key=by_aggregate):
        last, reached, jumped, decided = None, Reached(), False, False
        known = lost.get((aggregate_type, (name or b"").decode(errors="replace")), 0)
        try:
            for last in events_of_one:
                counts = _counts(reached.snapshot, last, jumped, known)
                if counts:
                    version, reached = reached.snapshot.version, after(reached, last, jumped, known)
                    # versions that were passed over are given again: old responses tell of them
                    decided |= jumped and reached.snapshot.version == version + 1
                jumped = not counts
            assert last is not None  # a group has at least one
            key = _key_of(last)
            if decided or jumped:
                yield Folded(last, key, None, stand=DECIDED)
            snapshot, gone = reached
            if snapshot.version == 0:
                continue  # all of it was passed over
            entry = Entry(snapshot_codec(aggregate_type).encode(snapshot))
            stand = Stand(snapshot.version, snapshot.last_hash)
            yield Folded(last, key, entry, stand=stand, lost=gone)
        except Exception as error:
            assert last is not None
            yield Folded(last, _key_of(last), None, f"{last}: {_said(error)}")


def after(reached: Reached, stored: Stored, jumped: bool = False, known: int = 0) -> Reached:
    """Return the aggregate after its next event.

    Args:
        reached: What it was before.
        stored: The event.
        jumped: What lies before that is passed over.
        known: Up to which version it is on record as lost.

    Raises:
        Broken: The event does not follow on the ones before it.
        Exception: It cannot be decoded, or the rules fail.
    """
    event = decode_event(stored.aggregate_type, stored.value)
    if (event.aggregate_type, event.aggregate_id.encode()) != (stored.aggregate_type, stored.key):
        raise Broken(f"holds an event of {event.aggregate_type} {event.aggregate_id!r}")
    found = StoredEvent(event, stored.value)
    snapshot, lost = reached
    missing = event.version - snapshot.version - 1
    if missing >= 0 and event.version <= known:
        return Reached(_as_deleted(found), lost)
    hole = stored.behind_hole and missing > 0
    anew = event.version == known + 1 > 1
    if missing > 0 and (jumped or hole or anew):
        snapshot = history.right_before(snapshot, found)
    if hole or anew:
        snapshot = snapshot._replace(state=None)
    lost = event.version - 1 if hole else lost
    try:
        return Reached(history.after(snapshot, found), lost)
    except RulesFail:
        if not (lost and stored.behind_hole):
            raise
        return Reached(_as_deleted(found), event.version)


def _as_deleted(found: StoredEvent) -> Snapshot[Any]:
    digest = sha256(found.value).digest()
    return Snapshot(found.event.version, None, digest, found.event.decided_at)


def _counts(snapshot: Snapshot[Any], stored: Stored, jumped: bool, known: int) -> bool:
    """Tell whether a record counts; a good event behind a hole does, when that is accepted.

    Raises:
        Broken: It is passed over in place of those that are missing before it: its version, and
            all before it, would be given again, with other events.
    """
    if not stored.passed_over:
        return True
    try:
        event = decode_event(stored.aggregate_type, stored.value)
    except Exception:
        return False  # it is no event: nobody knows of a version
    missing = event.version - snapshot.version - 1
    if jumped or missing <= 0 or event.aggregate_id.encode() != stored.key:
        return False
    if stored.behind_hole or event.version <= known + 1:
        return True
    raise Broken(
        f"version {event.version} is as verdict wrote it, and those behind version "
        f"{snapshot.version} are missing: passed over, it would be given again; {HOLE}"
    )


def _key_of(event: Stored) -> bytes:
    # what is no event of ours may have any key, or none
    return snapshot_key(event.aggregate_type, (event.key or b"").decode(errors="replace"))


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, Broken) else f"{type(error).__name__}: {error}"

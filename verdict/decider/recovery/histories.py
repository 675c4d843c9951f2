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
from verdict.decision.snapshot import NEVER_EXISTED, Snapshot, encode_snapshot
from verdict.model.application import Application
from verdict.model.source import Source
from verdict.model.told import told
from verdict.operator.shard_state import Entry, snapshot_key
from verdict.wire.catalog import AggregateContext, catalog_of
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


class Folded(NamedTuple):
    """What one aggregate, or one response, gave: an entry of the state, or why there is none.

    `stand` is that of a snapshot, or with neither entry nor fault what a response says of one, or
    an event that is passed over; `instead` is what the state has if events up to there are nowhere,
    and that is accepted. Up to the version `lost` that is so already, as nobody can tell what it is
    behind a hole.
    """

    of: Stored
    key: bytes
    entry: Entry | None
    fault: str | None = None
    stand: Stand | None = None
    instead: bytes | None = None
    lost: int = 0


class Reached(NamedTuple):
    """What an aggregate is on the way through its events, and up to which version it is lost.

    `place` is that of the last event that counts, `unread` whether versions moved on before it,
    without effect.
    """

    snapshot: Snapshot[Any] = NEVER_EXISTED
    lost: int = 0
    place: Source | None = None
    unread: bool = False


class Passed(NamedTuple):
    """Of records that are passed over one behind the other: what nobody can read, and events.

    Readers of the topic took that as the next version that is `told`. One that is `far` they did
    not take, yet.
    """

    told: StoredEvent | None = None
    far: StoredEvent | None = None
    unreadable: int = 0

    def beyond(self, version: int) -> "Passed":
        """Return what of it is still unknown behind an event of that version, which counts."""
        told, far = (
            one if one is not None and one.event.version > version else None
            for one in (self.told, self.far)
        )
        return Passed(told, far)


def snapshots(
    application: Application, events: Iterable[Stored], lost: Lost = MappingProxyType({})
) -> Iterator[Folded]:
    """Yield the snapshot of each aggregate; holds one event and one state at a time.

    A record that is passed over is as if it were not there, and no version is given twice by that:
    what it tells of, as what a response tells of, is missing then. In the place of those that
    nobody can read the versions move on, without effect: the next event counts.

    Args:
        application: Whose rules fold them.
        events: By aggregate, each one's by partition and offset.
        lost: What is on record as lost, since a recovery of before.

    Yields:
        The entry of the shard's state, byte for byte what the operator would have stored; a
        fault when versions have a gap, the chain of hashes is broken, or a record is unreadable.
        Behind a hole an aggregate is as one that was deleted, and begins anew as soon as the rules
        let it.
    """
    by_aggregate = attrgetter("aggregate_type", "key")
    for (aggregate_type, name), events_of_one in groupby(events, key=by_aggregate):
        last, reached, passed = None, Reached(), Passed()
        context = catalog_of(application)[aggregate_type]
        known = lost.get((aggregate_type, (name or b"").decode(errors="replace")), 0)
        try:
            for last in events_of_one:
                if last.passed_over:
                    passed = _passed(context, passed, max(reached.snapshot.version, known), last)
                else:
                    unreadable = passed.unreadable if passed.told is None else 0
                    reached = after(context, reached, last, unreadable, known)
                    passed = passed.beyond(reached.snapshot.version)
            assert last is not None  # a group has at least one
            key = key_of(last)
            yield from _told(context, last, key, passed, known)
            snapshot, gone, *_ = reached
            if snapshot.version == 0:
                continue  # all of it was passed over
            entry = Entry(encode_snapshot(context, snapshot))
            stand = Stand(snapshot.version, snapshot.last_hash)
            yield Folded(last, key, entry, stand=stand, lost=gone)
        except Exception as error:
            assert last is not None
            yield Folded(last, key_of(last), None, f"{last}: {_said(error)}")


def after(
    context: AggregateContext, reached: Reached, stored: Stored, unreadable: int = 0, known: int = 0
) -> Reached:
    """Return the aggregate after its next event.

    Args:
        context: Of the aggregate.
        reached: What it was before.
        stored: The event.
        unreadable: How many records right before it are passed over that nobody can read.
        known: Up to which version it is on record as lost.

    Raises:
        Broken: The event does not follow on the ones before it.
        Exception: It cannot be decoded, or the rules fail.
    """
    found = _event_in(context, stored)
    event = found.event
    snapshot, lost, place, was_unread = reached
    here = Source(stored.topic, stored.partition, stored.offset)
    if event.version == snapshot.version and place is not None:
        raise Broken(f"version {event.version} is there twice, first at {place}")
    missing = event.version - snapshot.version - 1
    if missing >= 0 and event.version <= known:
        return Reached(_as_deleted(found), lost, here)
    unread = 0 < missing <= unreadable
    hole = stored.behind_hole and missing > 0 and not unread
    anew = event.version == known + 1 > 1
    if missing > 0 and (unread or hole or anew):
        snapshot = history.right_before(snapshot, found)
    if hole or anew:
        snapshot = snapshot._replace(state=None)
    lost = event.version - 1 if hole else lost
    try:
        return Reached(
            history.after(context.aggregate, snapshot, found),
            lost,
            here,
            unread or was_unread,
        )
    except RulesFail:
        if not ((lost or unread or was_unread) and stored.behind_hole):
            raise
        return Reached(_as_deleted(found), event.version, here)


def deleted(context: AggregateContext, version: int, last_hash: bytes, decided_at: int) -> bytes:
    """Return the bytes of the snapshot of an aggregate of which nobody can tell what it is."""
    lost: Snapshot[Any] = Snapshot(version, None, last_hash, decided_at)
    return encode_snapshot(context, lost)


def _event_in(context: AggregateContext, stored: Stored) -> StoredEvent:
    event = decode_event(context, stored.value or b"")  # one may be deleted
    if (event.aggregate_type, event.aggregate_id.encode()) != (stored.aggregate_type, stored.key):
        raise Broken(f"holds an event of {event.aggregate_type} {event.aggregate_id!r}")
    return StoredEvent(event, stored.value)


def _as_deleted(found: StoredEvent) -> Snapshot[Any]:
    digest = sha256(found.value).digest()
    return Snapshot(found.event.version, None, digest, found.event.decided_at)


def _passed(context: AggregateContext, passed: Passed, reached: int, stored: Stored) -> Passed:
    """Return what is known of records that are passed over, with one more of them.

    Args:
        context: Of the aggregate.
        passed: What was known.
        reached: The version of the last event that counts, or is on record as lost.
        stored: The record. Its version is the next one, for who looks at nothing else, be there as
            many before it that nobody can read.
    """
    try:
        found = _event_in(context, stored)
    except Exception:
        return passed._replace(unreadable=passed.unreadable + 1)
    before = reached if passed.told is None else passed.told.event.version
    version = found.event.version
    if before < version <= before + 1 + passed.unreadable:
        return passed._replace(told=found)
    is_far = version > max(before, passed.far.event.version if passed.far else 0)
    return passed._replace(far=found) if is_far else passed


def _told(
    context: AggregateContext, of: Stored, key: bytes, passed: Passed, known: int
) -> Iterator[Folded]:
    """Yield which versions events that are passed over tell of.

    Of one that nothing leads to responses know better, if there are any: as none tells of a
    version below zero.
    """
    for one, sign in ((passed.told, 1), (passed.far, -1)):
        if one is None:
            continue
        version, digest, instead = one.event.version, sha256(one.value).digest(), None
        if of.behind_hole or version == known:
            # what the next event follows on, as it is lost, by this recovery or one of before
            instead = deleted(context, version, digest, one.event.decided_at)
        yield Folded(of, key, None, stand=Stand(sign * version, digest), instead=instead)


def key_of(stored: Stored) -> bytes:
    """Return the key of the snapshot of the aggregate under whose key a record lies."""
    # what is no record of ours may have any key, or none
    return snapshot_key(stored.aggregate_type, (stored.key or b"").decode(errors="replace"))


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, Broken) else told(error)

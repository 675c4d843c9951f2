"""From the records of an aggregate to its snapshot and remembered outcomes. Pure.

This module and `verdict.write_side.decide.fold` alone decide what is damaged.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from verdict.adapters.kafka.offsets import Offsets, offsets_at
from verdict.model.application import Application
from verdict.model.command_envelope import aggregate_id_rule
from verdict.model.reason import Reason
from verdict.model.recorded_event import RecordedEvent, event_id
from verdict.model.source import Source
from verdict.streaming.event_log.record import event_in
from verdict.wire.catalog import AggregateContext, catalog_of
from verdict.wire.codec import DecodeError
from verdict.wire.error_text import error_text
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.records import decode, encode
from verdict.wire.response import NOT_KNOWN, Response, Status
from verdict.wire.skip_record import DamagedAggregate, Kind, SkipRecord
from verdict.wire.stored_event import InvalidHistoryError, StoredEvent
from verdict.write_side.decide.command_checks import Limits
from verdict.write_side.decide.fold import fold
from verdict.write_side.decide.snapshot import Snapshot, encode_snapshot
from verdict.write_side.processor.batch import outcome_entry
from verdict.write_side.state.shard_state import StateEntry, outcome_key, snapshot_key

DECISION, RESPONSE, EVENT = range(3)  # the order in which an aggregate's records are read
ERROR_CHARS = 1000


Unanswered = Mapping[TopicPartition, Sequence[OffsetRange]]


class Memory(NamedTuple):
    """What a recovery knows about all responses together.

    Outcomes from before `since` are not remembered. Commands are decided up to `decided`. The
    responses to `unanswered` commands are lost; None means that they were not searched. If Kafka
    dropped no response, the log is `whole`, and each aggregate must have one.
    """

    limits: Limits
    since: int
    decided: Offsets
    unanswered: Unanswered | None = None
    whole: bool = True

    def is_unanswered(self, source: Source) -> bool:
        """Return whether the response to this command, which was decided, is lost."""
        if self.unanswered is None:
            return False
        spans = self.unanswered.get(TopicPartition.of(source), ())
        number = bisect_right(spans, source.offset, key=attrgetter("start"))
        return number > 0 and source.offset < spans[number - 1].end


class Stored(NamedTuple):
    """A record about an aggregate.

    `rank` is DECISION (its active quarantine), RESPONSE or EVENT. `key` is the aggregate's id; if
    another program wrote the record, it can be anything. `skipped` records are those that an
    operator skipped.
    """

    aggregate_type: str
    rank: int
    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int = 0
    skipped: bool = False

    @property
    def place(self) -> Source:
        """Its position in Kafka."""
        return Source(self.topic, self.partition, self.offset)

    def __str__(self) -> str:
        return f"{self.place}, aggregate {self.key!r}"


NOTHING = Stored("", DECISION, "", 0, 0, None, None)


class Folded(NamedTuple):
    """The result of one aggregate or one response.

    `key` and `entry` go into the state; of two with the same key, the one with the greater `offset`
    counts. `of` is the key of the records. `fault` is the reason why a record cannot be used.
    `decision` quarantines a damaged aggregate, or lifts the quarantine of one that is whole again.
    """

    of: bytes
    key: bytes
    entry: StateEntry | None = None
    offset: int = 0
    fault: str | None = None
    decision: SkipRecord | None = None


class FoldEnd(NamedTuple):
    """The end of a history: its version, and the hash of the last event if that is known."""

    version: int
    last_hash: bytes | None


def fold_histories(
    application: Application, records: Iterable[Stored], memory: Memory
) -> Iterator[Folded]:
    """Yield the entries of the decider's state, byte for byte as the operator would store them."""
    catalog = catalog_of(application)
    for (aggregate_type, key), of_one in groupby(records, key=attrgetter("aggregate_type", "key")):
        name = _id_of(key)
        if name is None:
            problem = "no aggregate can have this key"
            yield from (_fault(one, problem) for one in of_one if not one.skipped)
        else:
            yield from _History(catalog[aggregate_type], name, memory).fold(of_one)


class _History:
    """Folds the records of one aggregate; holds one event and one state at a time."""

    def __init__(self, context: AggregateContext, name: str, memory: Memory) -> None:
        self._context = context
        self._identity = context.name, name
        self._memory = memory
        self._quarantine: SkipRecord | None = None
        self._end: FoldEnd | None = None  # according to the responses
        self._answered = 0  # the greatest version that a response covers
        self._gaps = list[range]()  # earlier versions that no response covers
        self._skipped = list[tuple[Source, int | None]]()  # events, and their versions if known
        self._last = NOTHING  # record that counts
        self._greatest = 0  # version of an event
        self._unanswered = False  # whether the response to that event is lost
        self._last_version = 0  # of an event whose response is lost
        self._derived = list[Folded]()

    @property
    def _known(self) -> DamagedAggregate | None:
        """The damage that the active quarantine names."""
        return self._quarantine.aggregate if self._quarantine else None

    def fold(self, records: Iterable[Stored]) -> Iterator[Folded]:
        """Yield what the records give, sorted by rank."""
        events: Iterator[Stored] = iter(())
        for rank, found in groupby(records, key=attrgetter("rank")):
            if rank == EVENT:
                events = found
                break
            for one in found:
                self._last = one
                if rank == DECISION:
                    self._quarantine = decode(SkipRecord, one.value or b"")
                else:
                    yield from self._take_response(one)
        try:
            snapshot = self._fold_events(events)
            self._check(snapshot)
            whole = self._whole(snapshot)
        except InvalidHistoryError as problem:
            yield self._damaged(problem)
            return
        yield from self._derived
        if snapshot.version or self._quarantine:
            yield whole

    def _take_response(self, stored: Stored) -> Iterator[Folded]:
        if stored.skipped:
            return
        try:
            response = decode(Response, stored.value or b"")
        except DecodeError as error:
            yield _fault(stored, str(error))
            return
        source, end = response.source, offsets_at(self._memory.decided, response.source)
        if source.offset >= end:
            yield _fault(
                stored,
                f"it is the response to {source}, and by the decider's progress record its "
                f"partition is decided up to {end}: either the progress record is an older copy "
                "(append a tombstone, then recover: the responses show the position), or verdict "
                "did not write this response",
            )
        identity = response.aggregate_type, response.aggregate_id
        if identity == self._identity:
            self._take_versions(response)
        if _is_remembered(response) and stored.timestamp >= self._memory.since:
            key = outcome_key(*identity, response.command_id)
            entry = outcome_entry(stored.value or b"", self._memory.limits)
            yield Folded(stored.key or b"", key, entry, stored.offset)

    def _take_versions(self, response: Response) -> None:
        start, end = response.from_version, response.to_version
        if start is None or end is None:
            return
        if self._end is None or end >= self._end.version:
            self._end = FoldEnd(end, response.last_hash)
        if start < end and not response.duplicate:
            if start > self._answered:
                self._gaps.append(range(self._answered + 1, start + 1))
            self._answered = max(self._answered, end)

    def _fold_events(self, events: Iterator[Stored]) -> Snapshot[Any]:
        try:
            return fold(self._context.aggregate, filter(None, map(self._look_at, events)))
        except Exception as error:  # a damaged record can make its reader raise anything
            last, version = self._last, self._greatest + 1
            for one in events:  # they show how far the history went
                with suppress(Exception):
                    self._look_at(one)
            self._last = last
            if isinstance(error, InvalidHistoryError):
                raise InvalidHistoryError(str(error), error.version or version) from error
            raise InvalidHistoryError(
                f"the record at {last.place} cannot be read: {error_text(error)}", version
            ) from error

    def _look_at(self, stored: Stored) -> StoredEvent | None:
        """Return the event that counts; None for one that is skipped."""
        if stored.skipped:
            try:
                version: int | None = self._event_in(stored).event.version
            except Exception:
                version = None
            self._skipped.append((stored.place, version))
            return None
        self._last = stored
        found = self._event_in(stored)
        event = found.event
        is_unanswered = self._memory.is_unanswered(event.source)
        if event.version >= self._greatest:
            self._greatest, self._unanswered = event.version, is_unanswered
        if is_unanswered:
            self._last_version = max(self._last_version, event.version)
        is_young = (stored.timestamp or event.decided_at) >= self._memory.since
        if event.index + 1 == event.count and is_young and self._lacks_response(event):
            key = outcome_key(*self._identity, event.command_id)
            entry = outcome_entry(_derived_response(found), self._memory.limits)
            self._derived.append(Folded(stored.key or b"", key, entry, offset=-1))
        return found

    def _lacks_response(self, event: RecordedEvent) -> bool:
        """Return whether the response to the command of this event is lost."""
        if event.version > self._answered:
            return self._memory.is_unanswered(event.source)
        return any(event.version in versions for versions in self._gaps)

    def _event_in(self, stored: Stored) -> StoredEvent:
        found = event_in(self._context, self._identity[1], stored.value or b"")
        if isinstance(found, str):
            raise InvalidHistoryError(f"{stored.place}: {found}")
        return found

    def _check(self, snapshot: Snapshot[Any]) -> None:
        """Compare the folded history with responses, skips and an earlier quarantine."""
        found, end = snapshot.version, self._end or FoldEnd(0, None)
        if end.version > found:
            raise InvalidHistoryError(
                f"its last response reports version {end.version}, and events end with version "
                f"{found}",
                found + 1,
            )
        has_response = self._memory.whole or self._end is not None
        if found > end.version and has_response and not self._unanswered:
            raise InvalidHistoryError(
                f"events end with version {found}, and its last response reports version "
                f"{end.version}: verdict did not write the events after that",
                end.version + 1,
            )
        if found == end.version and end.last_hash not in (None, snapshot.last_hash):
            raise InvalidHistoryError(f"version {found}, the last one, was altered", found)
        self._check_skipped(snapshot)
        if (known := self._known) and found < known.last_version:  # events are still missing
            raise InvalidHistoryError(known.error, known.version)

    def _check_skipped(self, snapshot: Snapshot[Any]) -> None:
        """Check that skipped events leave no gap at the end, where no later event shows it."""
        is_confirmed = self._end == FoldEnd(snapshot.version, snapshot.last_hash)
        for place, version in self._skipped:
            # of a known version there may be another record; garbage was no event if all are there
            is_spare = is_confirmed if version is None else version <= snapshot.version
            if not is_spare:
                raise InvalidHistoryError(f"the event at {place} is skipped", snapshot.version + 1)

    def _whole(self, snapshot: Snapshot[Any]) -> Folded:
        lifted = self._quarantine and replace(self._quarantine, kind=Kind.LIFTED)
        try:
            return self._folded(snapshot, lifted)
        except (ValueError, TypeError) as error:
            raise InvalidHistoryError(
                f"its state cannot be stored: {error_text(error)}", snapshot.version
            ) from error

    def _damaged(self, problem: InvalidHistoryError) -> Folded:
        known, version = self._known, problem.version
        assert version is not None, "an invalid history names the version"
        told = known.last_version if known else 0, self._end.version if self._end else 0
        last, error = max(self._last_version, *told), str(problem)[:ERROR_CHARS]
        aggregate = DamagedAggregate(*self._identity, version, last, error)
        decision = None
        if known is None or last > known.last_version:
            skipped = (place for place, of in self._skipped if of in (None, version))
            place = next(skipped, self._last.place)
            decision = SkipRecord(
                source=place, until_offset=place.offset, operator="", reason="", decided_at=0,
                kind=Kind.QUARANTINED, aggregate=aggregate,
            )  # fmt: skip
        return self._folded(Snapshot(version, quarantined=True), decision)

    def _folded(self, snapshot: Snapshot[Any], decision: SkipRecord | None) -> Folded:
        entry = StateEntry(encode_snapshot(self._context, snapshot))
        key = self._identity[1].encode()
        return Folded(key, snapshot_key(*self._identity), entry, decision=decision)


def _id_of(key: bytes | None) -> str | None:
    try:
        return aggregate_id_rule.validate_python((key or b"").decode(), strict=True)
    except ValueError:
        return None


def _fault(stored: Stored, problem: str) -> Folded:
    key, fault = str(stored).encode(), f"{stored}: {problem}"
    return Folded(stored.key or b"", key, offset=stored.offset, fault=fault)


def _is_remembered(response: Response) -> bool:
    """Return whether this response is the outcome of its command id from now on.

    A duplicate repeats another response. A reused id belongs to another command. An invalid
    command has no digest. A retriable command may be sent again.
    """
    return not (
        response.duplicate
        or response.retriable
        or response.command_digest is None
        or response.reason == Reason.COMMAND_ID_REUSED
    )


def _derived_response(last: StoredEvent) -> bytes:
    """Return the response to a command whose own is lost, from the last event of the command.

    The event does not have the command's type and the version that the sender expected.
    """
    event, value = last
    identity = event.aggregate_type, event.aggregate_id
    first = event.version - event.count + 1
    fields = NOT_KNOWN | {
        "command_id": event.command_id,
        "command_digest": event.command_digest,
        "aggregate_type": event.aggregate_type,
        "aggregate_id": event.aggregate_id,
        "status": Status.ACCEPTED,
        "from_version": first - 1,
        "to_version": event.version,
        "event_ids": [event_id(*identity, version) for version in range(first, event.version + 1)],
        "correlation_id": event.correlation_id,
        "source": event.source,
        "decided_at": event.decided_at,
        "handler_version": event.handler_version,
        "last_hash": sha256(value).digest(),
        "actor": event.actor,
    }
    return encode(Response.trusted(fields))

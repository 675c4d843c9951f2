"""Applies the records of a log to the tables of a version, as the live version does."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

from sqlalchemy import Connection

from verdict.errors import VerdictError
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import NOTHING, Delivery, batches
from verdict.read_side.live.decoding import RecordDecoder
from verdict.read_side.rebuild.errors import BuildStoppedError, DifferentSettingsError
from verdict.read_side.tables.versions import SettingsChangedError
from verdict.streaming.event_log.event_log import EventLog
from verdict.streaming.event_log.record import RawRecord
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.topics import Topics

SHORT = 10_000  # offsets, which are applied in less time than processes take to start
SHORT_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Savepoints:
    """Lets an applier work inside a transaction that its caller began."""

    connection: Connection

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """Give a savepoint, which is undone if the block fails."""
        with self.connection.begin_nested():
            yield self.connection

    def connect(self) -> AbstractContextManager[Connection]:
        """Give the connection."""
        return nullcontext(self.connection)


def read_if_short(events: EventLog, ends: Mapping[TopicPartition, int]) -> list[RawRecord] | None:
    """Return all records before `ends`; None if they take too much memory."""
    if sum(ends.values()) > SHORT:
        return None
    records, size = [], 0
    for one in events.read({}, ends):
        records.append(one)
        size += len(one.key or b"") + len(one.value or b"")
        if size > SHORT_BYTES:
            return None
    return records


def decoded(records: Iterable[RawRecord], topics: Topics) -> Iterator[Delivery]:
    """Yield the records, decoded."""
    decoder = RecordDecoder(topics)
    return (decoder.delivery(*record) for record in records)


def replay(
    applier: Applier, deliveries: Iterable[Delivery], ends: Mapping[TopicPartition, int]
) -> None:
    """Apply the records from the position of an applier up to `ends`; stop where it fails."""
    reached = applier.positions
    spans = {
        place: OffsetRange(start := reached.get(place, 0), max(start, end))
        for place, end in ends.items()
    }
    for batch in batches(deliveries, spans):
        applier.apply(batch)
        if applier.is_stopped:
            return
    while applier.released:
        applier.apply(NOTHING)


def check_applied(applier: Applier) -> None:
    """Raise the error at which the applier stopped."""
    failure, projection = applier.failure, applier.projection
    if isinstance(failure, SettingsChangedError):
        raise DifferentSettingsError(projection, failure.found) from failure
    if isinstance(failure, VerdictError):
        raise failure
    if failure is not None:
        raise BuildStoppedError(projection, str(failure)) from failure

"""The archive of events, as readers may query it; a row counts only if its hash fits."""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from verdict.adapters.sql.readers.reader import Reader
from verdict.errors import VerdictError
from verdict.model.message import iso_time
from verdict.model.source import Source
from verdict.streaming.event_log.record import PositionedEvent, RawRecord, event_in
from verdict.wire.catalog import AggregateContext
from verdict.wire.partitions import TopicPartition
from verdict.wire.stored_event import StoredEvent

COLUMNS = """\
global_position, aggregate_type, aggregate_id, version, topic, "partition", "offset", value, hash"""

HISTORY = f"""\
SELECT {COLUMNS} FROM event_archive
WHERE aggregate_type = :aggregate_type AND aggregate_id = :aggregate_id ORDER BY version"""

# one statement, so that what is archived later is neither counted nor left out
REACHED = """\
SELECT p.topic, p."partition", p.next_offset, (SELECT max(global_position) FROM event_archive)
FROM projection_position p JOIN projection_live l
ON l.projection = p.projection AND l.version = p.version
WHERE p.projection = 'event_archive'"""

FIRST = """\
SELECT min(global_position) FROM event_archive
WHERE topic = :topic AND "partition" = :partition AND "offset" >= :offset"""

# an index lists a partition's offsets, and queries are mostly about the newest
UP_TO = """\
SELECT "offset" FROM event_archive
WHERE topic = :topic AND "partition" = :partition AND {condition}
ORDER BY "offset" DESC LIMIT 1"""

PAGE = 1000  # events of a query: one on PostgreSQL may take a minute

EVERY = f"""\
SELECT {COLUMNS} FROM event_archive
WHERE aggregate_type = :aggregate_type AND (aggregate_id, version) > (:aggregate_id, :version)
AND global_position <= :last
ORDER BY aggregate_id, version LIMIT :page"""

_IN_PARTITION = """\
FROM event_archive
WHERE topic = :topic AND "partition" = :partition AND "offset" > :after AND "offset" < :end
ORDER BY "offset" LIMIT :page"""
IN_PARTITION = f"SELECT {COLUMNS} {_IN_PARTITION}"
WHOLE = f"SELECT * {_IN_PARTITION}"

WHOLE_OF = """\
SELECT * FROM event_archive
WHERE aggregate_type = :aggregate_type AND aggregate_id = :aggregate_id ORDER BY "offset\""""

OUTCOMES = """\
SELECT topic, "partition", "offset", aggregate_id, status, duplicate FROM outcome
WHERE topic = :topic AND "partition" = :partition AND "offset" > :after
ORDER BY "offset" LIMIT :page"""

ANSWERED = """\
SELECT coalesce(max(to_version), 0) FROM outcome
WHERE aggregate_type = :aggregate_type AND aggregate_id = :aggregate_id"""

FROM_POSITION = f"""\
SELECT {COLUMNS} FROM event_archive
WHERE global_position > :after AND global_position <= :last
ORDER BY global_position LIMIT :page"""

Columns = dict[str, Any]
"""A row of the view by the names of its columns, whichever there are."""


class HashMismatchError(VerdictError):
    """A row of the archive is not what was archived."""


class PositionNotFoundError(VerdictError):
    """The archive does not reach that far."""

    def __init__(self, asked: int, last: int) -> None:
        super().__init__(
            f"there is no global position {asked} yet, the archive ends at {last}: ask for one up "
            "to that, or see in `verdict status` how far event_archive is behind"
        )


class ArchivePosition(NamedTuple):
    """How far the archive reaches: the next offset of each partition, and the last position."""

    reached: Mapping[TopicPartition, int]
    last: int


class ArchiveRow(NamedTuple):
    """A row of the archive, as far as it is read again."""

    global_position: int
    aggregate_type: str
    aggregate_id: str
    version: int
    topic: str
    partition: int
    offset: int
    value: bytes
    hash: str

    @property
    def fault(self) -> str | None:
        """What is wrong with the row; None: its value is what was archived."""
        found = sha256(self.value).hexdigest()
        if found == self.hash:
            return None
        return (
            f"row {self.global_position} of event_archive, version {self.version} of "
            f"{self.aggregate_type} {self.aggregate_id!r}, was altered: its value has the SHA-256 "
            f"{found[:16]}…, its hash says {self.hash[:16]}…; see `verdict verify "
            f"{self.aggregate_type}`, and restore the row"
        )

    def record(self) -> RawRecord:
        """Return the record that was archived; raise HashMismatchError if it is another."""
        if (fault := self.fault) is not None:
            raise HashMismatchError(fault)
        key = self.aggregate_id.encode()
        return RawRecord(self.topic, self.partition, self.offset, key, self.value)

    def positioned(self, context: AggregateContext) -> PositionedEvent:
        """Return the event that was archived, or what is wrong with it."""
        fault = self.fault
        place = Source(self.topic, self.partition, self.offset)
        content = fault or event_in(context, self.aggregate_id, self.value)
        if isinstance(content, StoredEvent) and content.event.version != self.version:
            content = (
                f"row {self.global_position} of event_archive says version {self.version}, its "
                f"event is version {content.event.version}: the row was altered"
            )
        return PositionedEvent(place, self.aggregate_id, self.version, content)


class Archive:
    """Asks the view `event_archive`."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def answered(self, aggregate_type: str, aggregate_id: str) -> int:
        """Return the last version of an aggregate that an outcome names; 0: none does."""
        asked = {"aggregate_type": aggregate_type, "aggregate_id": aggregate_id}
        [(version,)] = self._reader.select(ANSWERED, asked).rows
        return int(version)

    def history(self, context: AggregateContext, aggregate_id: str) -> Iterator[PositionedEvent]:
        """Yield an aggregate's events in the order of their versions."""
        asked = {"aggregate_type": context.name, "aggregate_id": aggregate_id}
        for row in self._reader.select(HISTORY, asked).rows:
            yield _archive_row(row).positioned(context)

    def standing(self) -> ArchivePosition:
        """Return how far it reaches; a partition of which it has nothing is left out."""
        rows = [*self._reader.select(REACHED).rows]
        reached = {TopicPartition(topic, number): int(offset) for topic, number, offset, _ in rows}
        return ArchivePosition(reached, max((int(last or 0) for *_, last in rows), default=0))

    def require_position(self, position: int) -> None:
        """Raise PositionNotFoundError unless that many events are archived."""
        if position > (last := self.standing().last):
            raise PositionNotFoundError(position, last)

    def end_at_position(self, place: TopicPartition, position: int) -> int:
        """Return the offset after the last event of a partition up to a global position."""
        return self._end("global_position <= :limit", place, position)

    def end_at_time(self, place: TopicPartition, millis: int) -> int:
        """Return the offset after the last event that was decided at that time or earlier."""
        return self._end("decided_at <= :limit", place, iso_time(millis))

    def first_from(self, place: TopicPartition, offset: int) -> int | None:
        """Return the global position of the first event of a partition from an offset on."""
        [(first,)] = self._reader.select(FIRST, {**place._asdict(), "offset": offset}).rows
        return None if first is None else int(first)

    def every(self, context: AggregateContext, last: int) -> Iterator[PositionedEvent]:
        """Yield all events of a type, by aggregate id and version."""
        asked = {"aggregate_type": context.name, "last": last, "aggregate_id": "", "version": 0}
        for row in self._paged(EVERY, asked, aggregate_id=2, version=3):
            yield _archive_row(row).positioned(context)

    def rows(self, topic: str, partition: int, start: int, end: int) -> Iterator[ArchiveRow]:
        """Yield the rows of a partition from an offset up to another, in their order."""
        asked = {"topic": topic, "partition": partition, "after": start - 1, "end": end}
        yield from map(_archive_row, self._paged(IN_PARTITION, asked, after=6))

    def positions(self, after: int, last: int) -> Iterator[ArchiveRow]:
        """Yield the rows after a global position up to another, in their order."""
        asked = {"after": after, "last": last}
        yield from map(_archive_row, self._paged(FROM_POSITION, asked, after=0))

    def outcomes(self, topic: str, partition: int) -> Iterator[tuple[Source, str, str, bool]]:
        """Yield command, aggregate id, status, and whether it is a duplicate, from `outcome`."""
        asked = {"topic": topic, "partition": partition, "after": -1}
        for *place, name, status, duplicate in self._paged(OUTCOMES, asked, after=2):
            yield Source(*place), name, status, bool(duplicate)

    def whole(self, topic: str, partition: int, end: int) -> Iterator[Columns]:
        """Yield the rows of a partition up to an offset, all columns, in their order."""
        asked = {"topic": topic, "partition": partition, "after": -1, "end": end, "page": PAGE}
        while page := self._columns(WHOLE, asked):
            yield from page
            asked["after"] = page[-1]["offset"]

    def whole_of(self, aggregate_type: str, aggregate_id: str) -> Iterator[Columns]:
        """Yield the rows of an aggregate, all columns, in the order of their offsets."""
        asked = {"aggregate_type": aggregate_type, "aggregate_id": aggregate_id}
        yield from self._columns(WHOLE_OF, asked)

    def _columns(self, statement: str, asked: Mapping[str, object]) -> list[Columns]:
        found = self._reader.select(statement, {**asked})
        return [dict(zip(found.columns, row, strict=True)) for row in found.rows]

    def _end(self, condition: str, place: TopicPartition, limit: int | str) -> int:
        statement = UP_TO.format(condition=condition)
        found = self._reader.select(statement, {**place._asdict(), "limit": limit}).rows
        return max((int(offset) + 1 for (offset,) in found), default=0)

    def _paged(
        self, statement: str, asked: Mapping[str, object], **after: int
    ) -> Iterator[Sequence[Any]]:
        """Yield all rows; `after` has the columns of the last one that the next page follows."""
        asked = {**asked, "page": PAGE}
        while page := [*self._reader.select(statement, asked).rows]:
            yield from page
            asked |= {name: page[-1][number] for name, number in after.items()}


def _archive_row(row: Sequence[Any]) -> ArchiveRow:
    *columns, value, digest = row
    return ArchiveRow._make([*columns, bytes(value), digest])

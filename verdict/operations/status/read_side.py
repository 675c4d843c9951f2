"""How far the read side has come, by what it says of itself in its views."""

from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass, fields
from typing import Any

from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.sql.readers.reader import Access, Reader, open_reader
from verdict.adapters.sql.readers.selected import SqlError
from verdict.adapters.sql.time_text import wall_clock
from verdict.errors import UnreachableError
from verdict.model.message import iso_time
from verdict.operations.status.log_ends import Ends, ends_of, log_of
from verdict.operations.status.policy_rejections import policy_rejections
from verdict.operations.status.status import (
    BlockedAggregateStatus,
    DeadLettersStatus,
    PolicyRejections,
    PositionStatus,
    ProjectionStatus,
    QuarantinedAggregate,
    QuarantinedAggregates,
    ScatteredAggregate,
    ScatteredKeys,
    VerificationStatus,
    total,
)
from verdict.read_side.tables.states import FOLLOWER, PARKED, WAITING, VersionState
from verdict.settings.settings import Settings
from verdict.wire.partitions import TopicPartition

Row = tuple[Any, ...]
Version = tuple[str, int]  # projection, version
GROWING = (VersionState.LIVE, VersionState.INCOMPLETE)  # what they have not begun to read they will

VERSIONS = "SELECT projection, version, state, error FROM projection_version ORDER BY 1, 2"
POSITIONS = 'SELECT projection, version, topic, "partition", next_offset FROM projection_position'
WAITS = ", ".join(column.name for column in fields(BlockedAggregateStatus))
FOLLOWED = "SELECT projection, topic FROM projection_topic"
HELD = f"SELECT projection, projection_version, {WAITS} FROM projection_blocked"
EVENTS = "SELECT coalesce(max(global_position), 0) FROM event_archive"  # it has no gaps
ANSWERED_MS = 60_000
ANSWERED = """\
SELECT coalesce(reason, status), count(*) FROM outcome WHERE decided_at > :since GROUP BY 1"""
REFUSED = """\
SELECT rule_code, count(*) FROM outcome
WHERE decided_at > :since AND rule_code IS NOT NULL GROUP BY 1"""
VERIFIED = """\
SELECT ended_at, aggregate_type, aggregate_id, clean, findings FROM verification
ORDER BY CASE WHEN aggregate_type IS NULL OR findings > 0 THEN 0 ELSE 1 END, seq DESC LIMIT 1"""
LETTERS = "SELECT status, count(*) FROM dead_letter GROUP BY status"
# of the newest commands, as the view `misrouted_key` reads an index of all there ever were; and not
# where a person has accepted partitions that were added: keys have moved to others then
SCATTERED = """\
WITH newest AS (
  SELECT DISTINCT aggregate_type, aggregate_id FROM (
    SELECT aggregate_type, aggregate_id FROM outcome WHERE from_version IS NOT NULL
    ORDER BY decided_at DESC LIMIT 5000
  ) AS decided
)
SELECT count(*) OVER (), aggregate_type, aggregate_id, (
  SELECT count(DISTINCT "partition") FROM outcome AS one WHERE from_version IS NOT NULL
  AND one.aggregate_type = newest.aggregate_type AND one.aggregate_id = newest.aggregate_id
) FROM newest WHERE (
  SELECT min("partition") FROM outcome AS one WHERE from_version IS NOT NULL
  AND one.aggregate_type = newest.aggregate_type AND one.aggregate_id = newest.aggregate_id
) < (
  SELECT max("partition") FROM outcome AS one WHERE from_version IS NOT NULL
  AND one.aggregate_type = newest.aggregate_type AND one.aggregate_id = newest.aggregate_id
) AND NOT EXISTS (
  SELECT 1 FROM skipped_record WHERE "offset" = 0 AND until_offset = 0
  AND topic LIKE '%' || aggregate_type || '.commands'
) ORDER BY 2, 3 LIMIT 1"""


QUARANTINED = """\
SELECT count(*) OVER (), aggregate_type, aggregate_id, version, error FROM aggregate_quarantined
ORDER BY 2, 3 LIMIT 1"""


@dataclass(frozen=True, slots=True)
class ReadSideStatus:
    """Every version of every projection, quarantines, keys on several partitions, letters, archived
    events, how the commands of the last minute were answered, and rejected commands of policies."""

    projections: tuple[ProjectionStatus, ...]
    quarantines: QuarantinedAggregates
    scattered: ScatteredKeys
    dead_letters: DeadLettersStatus
    events: int
    answered: dict[str, int]
    refused: dict[str, int]
    policy_rejections: tuple[PolicyRejections, ...]
    verified: VerificationStatus | None


def read_side(settings: Settings) -> ReadSideStatus:
    """Ask the read side, and Kafka for the ends of what it follows.

    Raises:
        UnreachableError: The read side cannot be asked.
    """
    try:
        log = log_of(settings)
    except UnreachableError:
        return read_side_beside(None, settings)
    with log:
        return read_side_beside(log, settings)


def read_side_beside(log: KafkaLog | None, settings: Settings) -> ReadSideStatus:
    """Ask the read side, and a log for the ends; without one they are unknown. Raises as above."""
    return views_of(settings).standing(log)


def views_of(settings: Settings) -> "ReadSideViews":
    """Ask the read side what its views say. Raises as above."""
    with open_reader(settings, Access.SUPPORT) as reader:
        return ReadSideViews(reader, settings.topics.dead_letters)


def _ends(log: KafkaLog | None, topics: set[str]) -> Ends:
    try:
        return ends_of(log, topics) if log else {}
    except (
        UnreachableError
    ):  # who asks for the decider says so; the positions are known all the same
        return {}


class ReadSideViews:
    """What the views say."""

    def __init__(self, reader: Reader, dead_letters: str) -> None:
        self.positions = _rows(reader, POSITIONS)
        self.versions = {(name, number): state for name, number, *state in _rows(reader, VERSIONS)}
        self._followed = defaultdict[str, set[str]](set)
        for name, topic in _rows(reader, FOLLOWED):
            self._followed[name].add(topic)
        self._followed[FOLLOWER.name].add(dead_letters)
        self._held = _rows(reader, HELD)
        self._letters: dict[str, int] = dict(_rows(reader, LETTERS))
        [(self.events,)] = _rows(reader, EVENTS)
        self.scattered = _scattered(*_rows(reader, SCATTERED))
        self.quarantines = _quarantines(*_rows(reader, QUARANTINED))
        since = {"since": iso_time(wall_clock() - ANSWERED_MS)}
        self.answered: dict[str, int] = dict(reader.select(ANSWERED, since).rows)
        self.refused: dict[str, int] = dict(reader.select(REFUSED, since).rows)
        self.policy_rejections = policy_rejections(reader)
        self.verified = _verified(reader)

    def standing(self, log: KafkaLog | None) -> ReadSideStatus:
        """Ask a log for the ends of what is followed; without one they are unknown."""
        ends = _ends(log, self.topics())
        return ReadSideStatus(
            tuple(self.projection(name, version, ends) for name, version in self.versions),
            self.quarantines,
            self.scattered,
            self.letters(ends),
            self.events,
            self.answered,
            self.refused,
            self.policy_rejections,
            self.verified,
        )

    def topics(self) -> set[str]:
        """Return all topics that anybody follows, or has followed."""
        return {topic for _, _, topic, *_ in self.positions}.union(*self._followed.values())

    def projection(self, name: str, version: int, ends: Ends) -> ProjectionStatus:
        """Return how far a version has come, what is held in it, and why it is stopped.

        What the live one has not begun to read of the topics that it follows is in its lag, and all
        that one reads which is being built: its position is written at the end.
        """
        of = name, version
        state, error = self.versions[of]
        positions = self._positions(of, ends)
        held = (
            BlockedAggregateStatus(*waits) for one, its, *waits in self._held if (one, its) == of
        )
        return ProjectionStatus(
            projection=name,
            version=version,
            state=state,
            lag=_lag(positions, self._followed[name] if state in GROWING else (), ends),
            stopped_by=error,
            held=tuple(held),
            positions=positions,
        )

    def letters(self, ends: Ends) -> DeadLettersStatus:
        """Return how many there are, and how many offsets are not taken in yet."""
        taken_in = [_position(row, ends) for row in self.positions if row[0] == FOLLOWER.name]
        return DeadLettersStatus(
            waiting=self._letters.get(WAITING, 0),
            parked=self._letters.get(PARKED, 0),
            lag=_lag(taken_in, self._followed[FOLLOWER.name], ends),
        )

    def _positions(self, of: Version, ends: Ends) -> tuple[PositionStatus, ...]:
        return tuple(_position(row, ends) for row in self.positions if (row[0], row[1]) == of)


def _lag(positions: Sequence[PositionStatus], followed: Container[str], ends: Ends) -> int | None:
    """Return what is not read, with all of the partitions that nobody has begun to read."""
    begun = {TopicPartition.of(one) for one in positions}
    unread = (end for place, end in ends.items() if place.topic in followed and place not in begun)
    return total([*(one.lag for one in positions), *unread])


def _position(row: Row, ends: Ends) -> PositionStatus:
    _, _, topic, partition, next_offset = row
    end = ends.get(TopicPartition(topic, partition))
    return PositionStatus(topic, partition, next_offset, None if end is None else end - next_offset)


def _scattered(first: Row = (0,)) -> ScatteredKeys:
    aggregates, *about = first
    return ScatteredKeys(aggregates, ScatteredAggregate(*about) if about else None)


def _quarantines(first: Row = (0,)) -> QuarantinedAggregates:
    aggregates, *about = first
    return QuarantinedAggregates(aggregates, QuarantinedAggregate(*about) if about else None)


def _verified(reader: Reader) -> VerificationStatus | None:
    try:
        found = _rows(reader, VERIFIED)
    except SqlError:  # a service of an earlier version runs: its database has no such view yet
        return None
    for at, kind, name, clean, findings in found:
        return VerificationStatus(at, kind, name, bool(clean), findings)
    return None


def _rows(reader: Reader, statement: str) -> list[Row]:
    return [*reader.select(statement).rows]

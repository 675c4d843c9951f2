"""How far the read side has come, as its views say."""

from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import fields, replace
from typing import Any

from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.sql.readers.reader import Access, Reader, open_reader
from verdict.adapters.sql.time_text import wall_clock
from verdict.errors import UnreachableError
from verdict.model.message import iso_time
from verdict.operations.status.status import (
    BlockedAggregateStatus,
    DeadLettersStatus,
    PolicyRejections,
    PositionStatus,
    ProjectionStatus,
    QuarantinedAggregates,
    ScatteredKeys,
    StatusReport,
    VerificationStatus,
    total,
)
from verdict.operations.status.write_side_status import LogEnds, ends_of, log_of
from verdict.read_side.tables.row_states import FOLLOWER, PARKED, WAITING, VersionState
from verdict.settings.settings import Settings
from verdict.wire.partitions import TopicPartition

Row = tuple[Any, ...]
Version = tuple[str, int]  # projection, version
GROWING = (VersionState.LIVE, VersionState.INCOMPLETE)  # they will read what they have not begun

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
# of the newest commands, because the view `misrouted_key` reads an index of all commands; without
# topics on which an operator has accepted added partitions, because keys have moved to them
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
ATTENTION_MS = 24 * 60 * 60 * 1000  # of a rejection that its policy does not expect
NEEDS_ATTENTION = "NOT rejection.expected AND rejection.decided_at > :since"
COUNTED = f"""\
SELECT policy, reason, rule_code, count(*), count(CASE WHEN {NEEDS_ATTENTION} THEN 1 END)
FROM policy_rejection AS rejection GROUP BY reason, policy, rule_code ORDER BY 1, 2, 3"""
# an event is found by its flow, which is that of the command: `event_id` has no index
LISTED = f"""\
SELECT listed.*, cause.event_type, cause.aggregate_type AS cause_type,
cause.aggregate_id AS cause_id, cause.version AS cause_version
FROM (
  SELECT rejection.*, (
    SELECT max(correlation_id) FROM outcome WHERE outcome.command_id = rejection.command_id
  ) AS correlation_id
  FROM policy_rejection AS rejection WHERE {NEEDS_ATTENTION}
  ORDER BY rejection.decided_at DESC, rejection.command_id LIMIT :most OFFSET :offset
) AS listed
LEFT JOIN event_archive AS cause
ON cause.correlation_id = listed.correlation_id AND cause.event_id = listed.event_id
ORDER BY listed.decided_at DESC, listed.command_id"""
# `coalesce` keeps the index by reason out of it: by time, the first row is found at once
NEWEST = f"""\
SELECT command_id FROM policy_rejection AS rejection WHERE {NEEDS_ATTENTION}
AND coalesce(policy, '') = :policy AND coalesce(reason, '') = :reason
AND coalesce(rule_code, '') = :rule_code ORDER BY decided_at DESC LIMIT 1"""


def projection_statuses(settings: Settings) -> tuple[ProjectionStatus, ...]:
    """Return each version of each projection; without a Kafka that answers, lags are unknown."""
    views = views_of(settings)
    try:
        with log_of(settings) as log:
            return views.projections(_ends(log, views.topics()))
    except UnreachableError:
        return views.projections({})


def views_of(settings: Settings) -> "ReadSideViews":
    """Read what the views say."""
    with open_reader(settings, Access.SUPPORT) as reader:
        return ReadSideViews(reader, settings.topics.dead_letters)


def _ends(log: KafkaLog | None, topics: set[str]) -> LogEnds:
    try:
        return ends_of(log, topics) if log else {}
    except UnreachableError:  # other questions report it; the positions are known anyway
        return {}


class ReadSideViews:
    """What the views say at one moment."""

    def __init__(self, reader: Reader, dead_letters: str) -> None:
        self.positions = _rows(reader, POSITIONS)
        self.versions = {(name, number): state for name, number, *state in _rows(reader, VERSIONS)}
        self._followed = defaultdict[str, set[str]](set)
        for name, topic in _rows(reader, FOLLOWED):
            self._followed[name].add(topic)
        self._followed[FOLLOWER.name].add(dead_letters)
        self._held = _rows(reader, HELD)
        self._letters: dict[str, int] = dict(_rows(reader, LETTERS))
        [scattered] = _rows(reader, SCATTERED) or [(0,)]
        [quarantined] = _rows(reader, QUARANTINED) or [(0,)]
        since = {"since": iso_time(wall_clock() - ANSWERED_MS)}
        [(events,)] = _rows(reader, EVENTS)
        self._facts: dict[str, Any] = {
            "scattered": ScatteredKeys(*scattered),
            "quarantines": QuarantinedAggregates(*quarantined),
            "events": events,
            "answered": dict(reader.select(ANSWERED, since).rows),
            "refused": dict(reader.select(REFUSED, since).rows),
            "policy_rejections": policy_rejections(reader),
            "verified": _verified(reader),
        }

    def added_to(self, found: StatusReport, log: KafkaLog | None) -> StatusReport:
        """Return a status with what the views say, and lags if there is a log."""
        ends = _ends(log, self.topics())
        return replace(
            found,
            projections=self.projections(ends),
            dead_letters=self.letters(ends),
            **self._facts,
        )

    def projections(self, ends: LogEnds) -> tuple[ProjectionStatus, ...]:
        """Return each version of each projection."""
        return tuple(self.projection(name, version, ends) for name, version in self.versions)

    def topics(self) -> set[str]:
        """Return all topics that a projection follows, or has followed."""
        return {topic for _, _, topic, *_ in self.positions}.union(*self._followed.values())

    def projection(self, name: str, version: int, ends: LogEnds) -> ProjectionStatus:
        """Return how far a version has come, what is held in it, and why it is stopped.

        The lag of a live version counts topics that it has not begun to read. A version that is
        being built has no position until the end: its lag is all that there is.
        """
        of = name, version
        state, error = self.versions[of]
        mine = (row for row in self.positions if (row[0], row[1]) == of)
        positions = tuple(_position(row, ends) for row in mine)
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

    def letters(self, ends: LogEnds) -> DeadLettersStatus:
        """Return how many there are, and how many offsets are not stored yet."""
        taken_in = [_position(row, ends) for row in self.positions if row[0] == FOLLOWER.name]
        return DeadLettersStatus(
            waiting=self._letters.get(WAITING, 0),
            parked=self._letters.get(PARKED, 0),
            lag=_lag(taken_in, self._followed[FOLLOWER.name], ends),
        )


def _lag(
    positions: Sequence[PositionStatus], followed: Container[str], ends: LogEnds
) -> int | None:
    """Return what is not read, with partitions that were never read."""
    begun = {TopicPartition.of(one) for one in positions}
    unread = (end for place, end in ends.items() if place.topic in followed and place not in begun)
    return total([*(one.lag for one in positions), *unread])


def _position(row: Row, ends: LogEnds) -> PositionStatus:
    _, _, topic, partition, next_offset = row
    end = ends.get(TopicPartition(topic, partition))
    return PositionStatus(topic, partition, next_offset, None if end is None else end - next_offset)


def _verified(reader: Reader) -> VerificationStatus | None:
    for at, kind, name, clean, findings in _rows(reader, VERIFIED):
        return VerificationStatus(at, kind, name, bool(clean), findings)
    return None


def _rows(reader: Reader, statement: str) -> list[Row]:
    return [*reader.select(statement).rows]


def since() -> str:
    """Return the time from which on a rejection needs attention."""
    return iso_time(wall_clock() - ATTENTION_MS)


def policy_rejections(reader: Reader) -> tuple[PolicyRejections, ...]:
    """Count the rejected commands of policies."""
    young = {"since": since()}
    found = list[PolicyRejections]()
    for policy, reason, code, rejected, unexpected in [*reader.select(COUNTED, young).rows]:
        of = {"policy": policy, "reason": reason, "rule_code": code or ""}
        newest = [*reader.select(NEWEST, young | of).rows] if unexpected else []
        command_id = newest[0][0] if newest else None
        found.append(PolicyRejections(policy, reason, code, rejected, unexpected, command_id))
    return (*found,)

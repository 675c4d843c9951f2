"""`outcome`: one row per command record that was answered, for "what became of it, and why?"."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Index,
    MetaData,
    Table,
    Text,
    select,
)

from verdict.database.instant import InstantType
from verdict.projection.answered import Outcome
from verdict.projection.append_projection import AppendProjection
from verdict.projection.batch import Delivery, Record
from verdict.projection.described import View, described
from verdict.projection.projection import Applied
from verdict.projection.scattered_key import key_partition, note, note_all, scattered
from verdict.wire.topics import Topics


def _of(*names: str) -> Callable[[tuple[Any, ...]], Any]:
    return itemgetter(*map(Outcome._fields.index, names))


PLACE, BEFORE = _of("aggregate_type", "aggregate_id", "partition"), _of("from_version")


def _row(record: Record) -> Outcome:
    assert isinstance(record, Outcome), "outcome follows responses only"
    return record


def every_responses(topics: Topics) -> Sequence[str]:
    """Return the responses topics of all aggregates."""
    return [
        topics.responses(aggregate_type) for aggregate_type in topics.application.aggregate_types
    ]


@dataclass(frozen=True, kw_only=True)
class OutcomeProjection(AppendProjection):
    """Outcomes and, in the same transaction, on which partitions each aggregate's commands were."""

    places: Table

    @property
    def tables(self) -> Sequence[Table]:
        """Outcomes, and where commands were."""
        return [self.table, self.places]

    def apply(self, connection: Connection, deliveries: Sequence[Delivery]) -> Applied:
        """Insert a row for each response that has none, and note its command's partition.

        Malformed commands, which have no versions, are not noted: their aggregate id is a claim,
        which their key may deny.
        """
        rows = self.rows(deliveries)
        note(connection, self.places, {PLACE(row) for row in rows if BEFORE(row) is not None})
        return self.insert(connection, rows)

    def complete(self, connection: Connection) -> None:
        """Note the partitions of all commands."""
        note_all(connection, self.places, self.table)


def _shown(table: Table) -> View:
    return described(
        select(table),
        "What became of each command record that was answered.",
        command_id="Id of the command; a repeated one has a row for each record of it.",
        aggregate_type="Type of the aggregate that it was for.",
        aggregate_id="Id of the aggregate.",
        command_type="Type of the command.",
        status="ACCEPTED or REJECTED.",
        reason="Code of the reason for which it was rejected.",
        rule_code="Code of the rule that refused it; empty for all other reasons.",
        message="The reason in words.",
        actor="On whose behalf it was sent, if its sender said so.",
        expected_version="The version that its sender expected, as it was sent.",
        actual_version="The version that the aggregate had.",
        from_version="The version before the events that it caused.",
        to_version="The version after them.",
        duplicate="Whether its id was answered before, and this is that answer again.",
        correlation_id="Id of the flow that it belongs to.",
        topic="Topic of the command.",
        partition="Partition of the command.",
        offset="Offset of the command.",
        decided_at="When it was decided.",
    )


def outcome(version: int = 1) -> OutcomeProjection:
    """Return the projection; it can be joined by command, by correlation and by aggregate."""
    outcomes = Table(
        f"outcome_v{version}",
        MetaData(),
        Column("command_id", Text, nullable=False),
        Column("aggregate_type", Text, nullable=False),
        Column("aggregate_id", Text, nullable=False),
        Column("command_type", Text),
        Column("status", Text, nullable=False),
        Column("reason", Text),
        Column("rule_code", Text),
        Column("message", Text),
        Column("actor", Text),
        Column("expected_version", Text),
        Column("actual_version", BigInteger),
        Column("from_version", BigInteger),
        Column("to_version", BigInteger),
        Column("duplicate", Boolean, nullable=False),
        Column("correlation_id", Text, nullable=False),
        Column("topic", Text, primary_key=True),
        Column("partition", BigInteger, primary_key=True),
        Column("offset", BigInteger, primary_key=True),
        Column("decided_at", InstantType, nullable=False),
    )
    Index(f"{outcomes.name}_command", outcomes.c.command_id)
    Index(f"{outcomes.name}_time", outcomes.c.decided_at)
    Index(f"{outcomes.name}_correlation", outcomes.c.correlation_id)
    Index(f"{outcomes.name}_aggregate", outcomes.c.aggregate_type, outcomes.c.aggregate_id)
    places = key_partition(outcomes.metadata, version)
    return OutcomeProjection(
        name="outcome",
        version=version,
        table=outcomes,
        places=places,
        columns=Outcome._fields,
        row=_row,
        follows=every_responses,
        views={"outcome": _shown(outcomes), "scattered_key": scattered(places)},
    )

"""`outcome` and `policy_rejection`: one row per answered command, written once, never changed.

`policy_rejection` has the cause of each rejection of a policy's command. A rejection holds the
command as it was sent, and with it the policy and the event; a response holds neither.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import (
    ColumnElement,
    Connection,
    Index,
    MetaData,
    Table,
    and_,
    case,
    false,
    func,
    or_,
    select,
    true,
)

from verdict.adapters.sql.bulk import BulkRows
from verdict.adapters.sql.statements import add_new
from verdict.model.application import Application
from verdict.read_side.apply.batch import Delivery
from verdict.read_side.projections.builtin.rows import OutcomeRow, RejectedCommand
from verdict.read_side.projections.documented_view import View, described
from verdict.read_side.projections.projection import Applied, BuiltRow, Rebuildable
from verdict.read_side.projections.stored_rows import columns_of_record
from verdict.wire.topics import Topics

POSITION = ("topic", "partition", "offset")


@dataclass(frozen=True)
class AppendBuilder:
    columns: Sequence[str]

    def __call__(self, deliveries: Iterable[Delivery]) -> Iterator[BuiltRow]:
        for delivery in deliveries:
            if isinstance(delivery.record, OutcomeRow | RejectedCommand):
                yield BuiltRow(delivery.record)


@dataclass(frozen=True, kw_only=True)
class AppendProjection(Rebuildable):
    """A projection that only grows; records with a primary key that is there are skipped."""

    topic_of: Callable[[Topics, str], str]

    def topics(self, topics: Topics) -> Sequence[str]:
        return [self.topic_of(topics, name) for name in topics.application.aggregate_types]

    def apply(self, connection: Connection, deliveries: Sequence[Delivery]) -> Applied:
        rows = [one.values for one in self.builder(deliveries) if one.values]
        new = add_new(connection, self.table, BulkRows(self.builder.columns, rows))
        return Applied(applied=new, skipped=len(rows) - new)

    @property
    def builder(self) -> AppendBuilder:
        return AppendBuilder(self.table.columns.keys())


def outcome(version: int = 1) -> AppendProjection:
    """Return the projection of responses, to join by command, correlation and aggregate."""
    table = Table(f"outcome_v{version}", MetaData(), *columns_of_record(OutcomeRow, POSITION))
    of = table.c
    Index(f"{table.name}_command", of.command_id)
    Index(f"{table.name}_time", of.decided_at)
    Index(f"{table.name}_correlation", of.correlation_id)
    # all that `misrouted_key` asks for, so that it reads no row
    Index(f"{table.name}_aggregate", of.aggregate_type, of.aggregate_id, of.partition,
        of.from_version)  # fmt: skip
    about = "What became of each command record that was answered."
    return AppendProjection(
        name="outcome",
        version=version,
        table=table,
        topic_of=Topics.responses,
        views={
            "outcome": described(select(table), about),
            "misrouted_key": _misrouted(table),
        },
    )


def _misrouted(table: Table) -> View:
    """Return the aggregates with commands on several partitions: their senders partition otherwise.

    Kafka keeps an order within a partition only. Malformed commands, which have no versions, do not
    count: their aggregate id is a claim, which their key may deny.
    """
    of = table.c
    aggregate = (of.aggregate_type, of.aggregate_id)
    partitions = func.count(of.partition.distinct()).label("partitions")
    found = select(*aggregate, partitions).where(of.from_version.is_not(None)).group_by(*aggregate)
    return described(
        found.having(func.min(of.partition) < func.max(of.partition)),
        "Aggregates whose commands came on several partitions, so that their order is not known.",
        aggregate_type="Type of the aggregate.",
        aggregate_id="Id of the aggregate.",
        partitions="On how many partitions they came.",
    )


def policy_rejection(application: Application, version: int = 1) -> AppendProjection:
    """Return the projection of rejected commands that policies sent."""
    columns = columns_of_record(RejectedCommand, POSITION)
    table = Table(f"policy_rejection_v{version}", MetaData(), *columns)
    of = table.c
    # all that is counted, so that a count reads no row
    Index(f"{table.name}_reason", of.reason, of.policy, of.rule_code, of.decided_at)
    Index(f"{table.name}_time", of.decided_at)
    *shown, decided_at = (one for one in of if one.name not in POSITION)
    expected = _expected(application, table).label("expected")
    view = described(
        select(*shown, expected, decided_at),
        "Rejections of commands that policies sent. A policy sees none of them.",
        expected="Whether the policy expects it, by its declaration of today.",
    )
    return AppendProjection(
        name="policy_rejection",
        version=version,
        table=table,
        topic_of=Topics.rejected,
        views={"policy_rejection": view},
    )


def _expected(application: Application, table: Table) -> ColumnElement[bool]:
    """Return whether a row is expected: the view says it, so each start can change it."""
    of, expected = table.c, list[ColumnElement[bool]]()
    for policy in application.policies:
        if names := sorted(policy.expected_rejections):
            either = or_(of.reason.in_(names), of.rule_code.in_(names))
            expected.append(and_(of.policy == policy.name, either))
    return case((or_(false(), *expected), true()), else_=false())

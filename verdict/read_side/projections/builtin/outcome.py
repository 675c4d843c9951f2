"""`outcome`: one row per command record that was answered, for "what became of it, and why?"."""

from sqlalchemy import Index, MetaData, Table, func, select

from verdict.read_side.projections.append_projection import AppendProjection
from verdict.read_side.projections.builtin.rows import OutcomeRow
from verdict.read_side.projections.documented_view import View, described
from verdict.read_side.projections.stored_rows import columns_of_record
from verdict.wire.topics import Topics

POSITION = ("topic", "partition", "offset")


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
        message="The reason as text.",
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


def _scattered(table: Table) -> View:
    """Return the aggregates with commands on several partitions.

    Kafka keeps an order within a partition only. Commands of one aggregate are on several if the
    partitioners of their senders differ: each is still decided once, but perhaps not in the order
    of sending. Malformed commands, which have no versions, do not count: their aggregate id is a
    claim, which their key may deny.
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


def outcome(version: int = 1) -> AppendProjection:
    """Return the projection; it can be joined by command, by correlation and by aggregate."""
    outcomes = Table(
        f"outcome_v{version}",
        MetaData(),
        *columns_of_record(OutcomeRow, POSITION),
    )
    Index(f"{outcomes.name}_command", outcomes.c.command_id)
    Index(f"{outcomes.name}_time", outcomes.c.decided_at)
    Index(f"{outcomes.name}_correlation", outcomes.c.correlation_id)
    # all that `misrouted_key` asks for, so that it reads no row
    places = ("aggregate_type", "aggregate_id", "partition", "from_version")
    Index(f"{outcomes.name}_aggregate", *(outcomes.c[name] for name in places))
    return AppendProjection(
        name="outcome",
        version=version,
        table=outcomes,
        columns=OutcomeRow._fields,
        topic_of=Topics.responses,
        views={"outcome": _shown(outcomes), "misrouted_key": _scattered(outcomes)},
    )

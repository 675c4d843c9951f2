"""`policy_rejection`: one row per rejection of a command that a policy sent, with its cause.

The rejection holds the command as it was sent, and with it the policy and the event. A response
holds neither, and rejections are few: so this follows the topics of rejections, and `outcome` and
the responses stay as they are.
"""

from sqlalchemy import ColumnElement, Index, MetaData, Table, and_, case, false, or_, select, true

from verdict.model.application import Application
from verdict.read_side.projections.append_projection import AppendProjection
from verdict.read_side.projections.builtin.rows import RejectedCommand
from verdict.read_side.projections.documented_view import View, described
from verdict.read_side.projections.stored_rows import columns_of_record
from verdict.wire.topics import Topics


def policy_rejection(application: Application, version: int = 1) -> AppendProjection:
    """Return the projection."""
    table = Table(
        f"policy_rejection_v{version}",
        MetaData(),
        *columns_of_record(RejectedCommand, ("topic", "partition", "offset")),
    )
    of = table.c
    # all that is counted, so that a count reads no row
    Index(f"{table.name}_reason", of.reason, of.policy, of.rule_code, of.decided_at)
    Index(f"{table.name}_time", of.decided_at)
    return AppendProjection(
        name="policy_rejection",
        version=version,
        table=table,
        columns=RejectedCommand._fields,
        topic_of=Topics.rejected,
        views={"policy_rejection": _shown(application, table)},
    )


def _shown(application: Application, table: Table) -> View:
    of = table.c
    shown = (
        of.policy, of.event_id, of.command_id, of.aggregate_type, of.aggregate_id, of.reason,
        of.rule_code, of.message, _expected(application, table).label("expected"), of.decided_at,
    )  # fmt: skip
    return described(
        select(*shown),
        "Rejections of commands that policies sent. A policy sees none of them.",
        policy="Name of the policy, as the actor of the command says.",
        event_id="Id of the event because of which it sent the command.",
        command_id="Id of the command. A retry of the same command has a row of its own.",
        aggregate_type="Type of the aggregate that the command was for.",
        aggregate_id="Id of the aggregate.",
        reason="Reason of the rejection.",
        rule_code="Code of the business rule, if it was one.",
        message="The reason as text.",
        expected="Whether the policy expects it, by its declaration of today.",
        decided_at="When the command was decided.",
    )


def _expected(application: Application, table: Table) -> ColumnElement[bool]:
    """Return whether a row is expected: the view says it, so each start can change it."""
    of, expected = table.c, list[ColumnElement[bool]]()
    for policy in application.policies:
        if names := sorted(policy.expected_rejections):
            either = or_(of.reason.in_(names), of.rule_code.in_(names))
            expected.append(and_(of.policy == policy.name, either))
    return case((or_(false(), *expected), true()), else_=false())

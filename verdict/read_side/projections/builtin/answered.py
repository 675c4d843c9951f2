"""An answer as `outcome` keeps it: the row of a command that was answered; pure."""

from typing import NamedTuple

from verdict.model.nul import spell_out
from verdict.model.reason import Reason
from verdict.wire.records import response_fields

new = tuple.__new__  # of a named tuple, whose own asks for each field


class OutcomeRow(NamedTuple):
    """The row of a response; its place is that of the command, not of the response."""

    command_id: str
    aggregate_type: str
    aggregate_id: str
    command_type: str | None
    status: str
    reason: str | None
    rule_code: str | None
    message: str | None
    actor: str | None
    expected_version: str | None
    actual_version: int | None
    from_version: int | None
    to_version: int | None
    duplicate: bool
    correlation_id: str
    topic: str
    partition: int
    offset: int
    decided_at: int


def answered(response: bytes) -> OutcomeRow:
    """Return the row of a response, without an object on the way.

    Raises:
        DecodeError: The bytes are something else, or damaged.
    """
    fields = response_fields(response)
    source, expected = fields["source"], fields["expected_version"]
    reason, message = fields["reason"], fields["message"]
    row = (
        fields["command_id"],
        fields["aggregate_type"],
        fields["aggregate_id"],
        fields["command_type"],
        fields["status"],
        reason,
        fields["details"].get("code") if reason == Reason.BUSINESS_RULE else None,
        # a bug's message may hold anything, and PostgreSQL stores no NUL
        message and spell_out(message),
        fields["actor"],
        None if expected is None else str(expected),
        fields["actual_version"],
        fields["from_version"],
        fields["to_version"],
        fields["duplicate"],
        fields["correlation_id"],
        source["topic"],
        source["partition"],
        source["offset"],
        fields["decided_at"],
    )
    return new(OutcomeRow, row)

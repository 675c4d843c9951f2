"""A rejected command of a policy as `policy_rejection` keeps it; pure."""

from typing import NamedTuple

from verdict.model.policy import ACTOR
from verdict.model.reason import Reason
from verdict.wire.catalog import AggregateContext
from verdict.wire.codec import DecodeError, engine_codec
from verdict.wire.commands import decode_command

IN_BYTES = ACTOR.encode()


class RejectedCommand(NamedTuple):
    """The row of a rejection; its position is that of the command, not of the rejection."""

    policy: str
    event_id: str
    command_id: str
    aggregate_type: str
    aggregate_id: str
    reason: str
    rule_code: str | None
    message: str
    topic: str
    partition: int
    offset: int
    decided_at: int


def rejected_command(context: AggregateContext, rejection: bytes) -> RejectedCommand | None:
    """Return the row of a rejection; None: the rejected command is not one of a policy.

    Raises:
        DecodeError: The bytes are something else, or damaged.
    """
    if IN_BYTES not in rejection:  # most are not, and this is far cheaper than to decode them
        return None
    fields = engine_codec("rejection").decode(rejection)
    try:
        command = decode_command(context, fields["command_bytes"])
    except (DecodeError, LookupError):  # what a policy sends can be decoded
        return None
    actor, event_id = command.get("actor"), command.get("causation_id")
    if not (isinstance(actor, str) and actor.startswith(ACTOR) and isinstance(event_id, str)):
        return None
    source, is_rule = fields["source"], fields["reason"] == Reason.BUSINESS_RULE
    return RejectedCommand(
        actor.removeprefix(ACTOR),
        event_id,
        fields["command_id"],
        fields["aggregate_type"],
        fields["aggregate_id"],
        fields["reason"],
        fields["details"].get("code") if is_rule else None,
        fields["message"],
        source["topic"],
        source["partition"],
        source["offset"],
        fields["decided_at"],
    )

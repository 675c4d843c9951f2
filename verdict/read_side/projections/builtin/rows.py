"""Rows of archive, outcomes and rejections, made where a record is decoded; pure."""

from hashlib import sha256
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic_core import to_json
from typing_extensions import Doc

from verdict.model.nul import spell_out, spell_out_nul_in
from verdict.model.policy import ACTOR
from verdict.model.reason import Reason
from verdict.model.recorded_event import RecordedEvent
from verdict.wire.catalog import AggregateContext
from verdict.wire.codec import DecodeError, engine_codec
from verdict.wire.commands import decode_command
from verdict.wire.json import payload_json
from verdict.wire.records import response_fields

if TYPE_CHECKING:  # a delivery has such rows
    from verdict.read_side.apply.batch import Delivery

ACTOR_BYTES = ACTOR.encode()
COMMAND = itemgetter("command_id", "aggregate_type", "aggregate_id")
VERSIONS = itemgetter("actual_version", "from_version", "to_version")
POSITION = itemgetter("topic", "partition", "offset")
new = tuple.__new__  # of a named tuple, whose own asks for each field


class ArchivedEvent(NamedTuple):
    """Its row, but for the position; payload and metadata are JSON, the time epoch milliseconds."""

    aggregate_type: Annotated[str, Doc("Type of the aggregate that it happened to.")]
    aggregate_id: Annotated[str, Doc("Id of the aggregate.")]
    version: Annotated[int, Doc("Counts the aggregate's events from 1.")]
    event_id: Annotated[str, Doc("Id of the event; it has no index: select by another column too.")]
    event_type: Annotated[str, Doc("Type of the event.")]
    payload: Annotated[str, Doc("The event as JSON; personal fields are null unless you see them.")]
    metadata: Annotated[str, Doc("What was known when it was decided, as JSON.")]
    value: Annotated[bytes, Doc("The bytes of the record; null unless you see personal fields.")]
    hash: Annotated[str, Doc("SHA-256 of those bytes.")]
    topic: Annotated[str, Doc("Topic of the record.")]
    partition: Annotated[int, Doc("Partition of the record.")]
    offset: Annotated[int, Doc("Offset of the record.")]
    decided_at: Annotated[int, Doc("When it was decided.")]
    correlation_id: Annotated[str, Doc("Id of the flow that it belongs to.")]


class OutcomeRow(NamedTuple):
    """The row of a response; its position is that of the command, not of the response."""

    command_id: Annotated[str, Doc("Id of the command; each record of a repeated one has a row.")]
    aggregate_type: Annotated[str, Doc("Type of the aggregate that it was for.")]
    aggregate_id: Annotated[str, Doc("Id of the aggregate.")]
    command_type: Annotated[str | None, Doc("Type of the command.")]
    status: Annotated[str, Doc("ACCEPTED or REJECTED.")]
    reason: Annotated[str | None, Doc("Code of the reason for which it was rejected.")]
    rule_code: Annotated[str | None, Doc("Code of the rule that refused it, if it was a rule.")]
    message: Annotated[str | None, Doc("The reason as text.")]
    actor: Annotated[str | None, Doc("On whose behalf it was sent, if its sender said so.")]
    expected_version: Annotated[str | None, Doc("The version that was expected, as it was sent.")]
    actual_version: Annotated[int | None, Doc("The version that the aggregate had.")]
    from_version: Annotated[int | None, Doc("The version before the events that it caused.")]
    to_version: Annotated[int | None, Doc("The version after them.")]
    duplicate: Annotated[bool, Doc("Whether its id was answered before, and this is a repetition.")]
    correlation_id: Annotated[str, Doc("Id of the flow that it belongs to.")]
    topic: Annotated[str, Doc("Topic of the command.")]
    partition: Annotated[int, Doc("Partition of the command.")]
    offset: Annotated[int, Doc("Offset of the command.")]
    decided_at: Annotated[int, Doc("When it was decided.")]


class RejectedCommand(NamedTuple):
    """The row of a rejection; its position is that of the command, not of the rejection."""

    policy: Annotated[str, Doc("Name of the policy, as the actor of the command says.")]
    event_id: Annotated[str, Doc("Id of the event because of which it sent the command.")]
    command_id: Annotated[str, Doc("Id of the command; each retry of it has a row of its own.")]
    aggregate_type: Annotated[str, Doc("Type of the aggregate that the command was for.")]
    aggregate_id: Annotated[str, Doc("Id of the aggregate.")]
    reason: Annotated[str, Doc("Reason of the rejection.")]
    rule_code: Annotated[str | None, Doc("Code of the business rule, if it was one.")]
    message: Annotated[str | None, Doc("The reason as text.")]
    topic: str
    partition: int
    offset: int
    decided_at: Annotated[int, Doc("When the command was decided.")]


def archived_event(delivery: "Delivery") -> ArchivedEvent:
    """Return the row of an event, which travels with its bytes."""
    event, value = delivery.record, delivery.value
    assert isinstance(event, RecordedEvent), "the archive follows events only"
    assert value is not None, "an event travels with its bytes"
    row = (
        event.aggregate_type,
        event.aggregate_id,
        event.version,
        event.event_id,
        type(event.payload).__name__,
        payload_json(spell_out_nul_in(event.payload)),
        _json(_metadata(event)),
        value,
        sha256(value).hexdigest(),
        *delivery[:3],
        event.decided_at,
        event.correlation_id,
    )
    return new(ArchivedEvent, row)


def _metadata(event: RecordedEvent) -> dict[str, object]:
    return {
        "index": event.index,
        "count": event.count,
        "command_id": event.command_id,
        "command_digest": event.command_digest.hex(),
        "correlation_id": event.correlation_id,
        "causation_id": event.causation_id,
        "actor": event.actor,
        "traceparent": event.traceparent,
        "source": {
            "topic": event.source.topic,
            "partition": event.source.partition,
            "offset": event.source.offset,
        },
        "handler_version": event.handler_version,
        "previous_hash": event.previous_hash.hex(),
    }


def _json(fields: Any) -> str:
    return to_json(fields).decode()


def answered(response: bytes) -> OutcomeRow:
    """Return the row of a response, without an object on the way."""
    fields = response_fields(response)
    expected = fields["expected_version"]
    reason, message = fields["reason"], fields["message"]
    row = (
        *COMMAND(fields),
        fields["command_type"],
        fields["status"],
        reason,
        fields["details"].get("code") if reason == Reason.BUSINESS_RULE else None,
        # a bug's message may hold anything, and PostgreSQL stores no NUL
        message and spell_out(message),
        fields["actor"],
        None if expected is None else str(expected),
        *VERSIONS(fields),
        fields["duplicate"],
        fields["correlation_id"],
        *POSITION(fields["source"]),
        fields["decided_at"],
    )
    return new(OutcomeRow, row)


def rejected_command(context: AggregateContext, rejection: bytes) -> RejectedCommand | None:
    """Return the row of a rejection; None: the rejected command is not one of a policy."""
    if ACTOR_BYTES not in rejection:  # most are not, and this is far cheaper than to decode them
        return None
    fields = engine_codec("rejection").decode(rejection)
    try:
        command = decode_command(context, fields["command_bytes"])
    except (DecodeError, LookupError):  # what a policy sends can be decoded
        return None
    actor, event_id = command.get("actor"), command.get("causation_id")
    if not (isinstance(actor, str) and actor.startswith(ACTOR) and isinstance(event_id, str)):
        return None
    reason = fields["reason"]
    row = (
        actor.removeprefix(ACTOR),
        event_id,
        *COMMAND(fields),
        reason,
        fields["details"].get("code") if reason == Reason.BUSINESS_RULE else None,
        fields["message"],
        *POSITION(fields["source"]),
        fields["decided_at"],
    )
    return RejectedCommand._make(row)

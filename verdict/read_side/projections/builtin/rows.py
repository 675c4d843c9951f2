"""Rows of archive, outcomes and rejections, made where a record is decoded; pure."""

from hashlib import sha256
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import to_json

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

Identity = tuple[str, str, int]  # aggregate type, aggregate id, version

ACTOR_BYTES = ACTOR.encode()
COMMAND = itemgetter("command_id", "aggregate_type", "aggregate_id")
VERSIONS = itemgetter("actual_version", "from_version", "to_version")
POSITION = itemgetter("topic", "partition", "offset")
new = tuple.__new__  # of a named tuple, whose own asks for each field


class ArchivedEvent(NamedTuple):
    """Its row, but for the position; payload and metadata are JSON, the time epoch milliseconds."""

    aggregate_type: str
    aggregate_id: str
    version: int
    event_id: str
    event_type: str
    payload: str
    metadata: str
    value: bytes
    hash: str
    topic: str
    partition: int
    offset: int
    decided_at: int
    correlation_id: str

    @property
    def identity(self) -> Identity:
        """Which event it is, at whatever position."""
        return self[:3]


class OutcomeRow(NamedTuple):
    """The row of a response; its position is that of the command, not of the response."""

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


class RejectedCommand(NamedTuple):
    """The row of a rejection; its position is that of the command, not of the rejection."""

    policy: str
    event_id: str
    command_id: str
    aggregate_type: str
    aggregate_id: str
    reason: str
    rule_code: str | None
    message: str | None
    topic: str
    partition: int
    offset: int
    decided_at: int


def archived_event(delivery: "Delivery") -> ArchivedEvent:
    """Return the row of an event, which travels with its bytes or, from a worker, with its row."""
    if delivery.row is not None:
        return ArchivedEvent._make(delivery.row)
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
    """Return the row of a response, without an object on the way.

    Raises:
        DecodeError: The bytes are something else, or damaged.
    """
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

"""From bytes to a command: check 1, which needs no state.

Its result is always the same, so nothing of it is remembered.
"""

from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import to_json

from verdict.model.command import Command
from verdict.model.command_envelope import CommandEnvelope, aggregate_id_rule, command_id_rule
from verdict.model.message import LARGEST, name_rule
from verdict.model.nul import nul_in, spell_out
from verdict.model.reason import Reason
from verdict.wire.avro.envelope import SlicedEnvelope, sliced
from verdict.wire.avro.writer import known_long, known_text, text_in, write_long
from verdict.wire.catalog import AggregateContext
from verdict.wire.codec import DecodeError
from verdict.wire.command_record import CommandRecord, dead_letter
from verdict.wire.commands import JSON_OPENING, decode_command
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.error_text import described
from verdict.wire.response import NOT_KNOWN, Details, Response, Status
from verdict.write_side.decide.digest import command_digest

SHOWN_PROBLEMS = 10
SHOWN_CHARS = 200

Sent = dict[str, Any]  # an envelope or a payload, as JSON or Avro has it

_envelope = CommandEnvelope.__pydantic_validator__.validate_python


class ReceivedCommand(NamedTuple):
    """A valid command; `source` is the position of its record as Avro writes it."""

    aggregate_type: str
    envelope: SlicedEnvelope
    payload: Command
    digest: bytes
    source: bytes
    record: CommandRecord


class CheckFailedError(Exception):
    """A check failed; the message is for the sender, with the numbers that decided."""

    def __init__(self, reason: Reason, message: str, details: Details | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.details = details or {}


def parse_command(
    context: AggregateContext, record: CommandRecord
) -> ReceivedCommand | Response | DeadLetter:
    """Read a record as a command of an aggregate; pure, and it never raises.

    An invalid command gets its rejection here, if it has the ids that a response needs.
    """
    if record.cut:
        return dead_letter(record, f"value has {record.length} bytes, more than a command may have")
    if record.value is None:
        return dead_letter(record, "record has no value")
    try:
        return _sound(context, record, record.value) or parse_slowly(context, record, record.value)
    except Exception as error:  # a bug in one command's class must not stop the others
        return dead_letter(record, f"a bug in reading it: {described(error, anywhere=True)}")


def _sound(
    context: AggregateContext, record: CommandRecord, value: bytes
) -> ReceivedCommand | None:
    """Return a command as our clients write it; None for what is in another form, or malformed."""
    try:
        envelope, payload = context.sound_commands.read(value)
    except Exception:  # `parse_slowly` says what is wrong
        return None
    if text_in(envelope.aggregate) != record.key or nul_in(payload) is not None:
        return None
    return _received(context, envelope, payload, record)


def _received(
    context: AggregateContext, envelope: SlicedEnvelope, payload: Command, record: CommandRecord
) -> ReceivedCommand:
    digest, place = command_digest(payload), record.source
    source = known_text(place.topic) + known_long(place.partition) + write_long(place.offset)
    return ReceivedCommand(context.name, envelope, payload, digest, source, record)


def parse_slowly(
    context: AggregateContext, record: CommandRecord, value: bytes
) -> ReceivedCommand | Response | DeadLetter:
    """Read JSON, Avro of an older schema, and invalid commands; the result has today's form."""
    try:
        sent = decode_command(context, value)
    except DecodeError as error:
        return dead_letter(record, str(error))
    is_json = value[:1] == JSON_OPENING
    try:
        return _well_formed(context, sent, record, is_json)
    except CheckFailedError as failed:
        return _invalid_response(context, sent, record, failed)


def _invalid_response(
    context: AggregateContext, sent: Sent, record: CommandRecord, failed: CheckFailedError
) -> Response | DeadLetter:
    """Return the rejection of an invalid command; it does not depend on the state."""
    try:
        command_id = command_id_rule.validate_python(sent.get("command_id"), strict=True)
        aggregate_id = aggregate_id_rule.validate_python(sent.get("aggregate_id"), strict=True)
    except ValidationError:
        needed = "a command_id of 1 to 128 and an aggregate_id of 1 to 256 characters, no NUL"
        return dead_letter(record, f"it cannot be answered: a command needs {needed}")
    payload = sent.get("payload")
    name = payload.get("type") if isinstance(payload, dict) else None
    is_known = isinstance(name, str) and name in context.aggregate.command_types
    fields = NOT_KNOWN | {
        "command_id": command_id,
        "aggregate_type": context.name,
        "aggregate_id": aggregate_id,
        "command_type": name if is_known else None,
        "status": Status.REJECTED,
        "reason": failed.reason,
        "message": failed.message,
        "details": failed.details,
        "retriable": failed.reason.retriable,
        "correlation_id": _name_or(sent.get("correlation_id"), command_id),
        "source": record.source,
        "decided_at": record.timestamp,
        "handler_version": context.aggregate.handler_version,
        "actor": _name_or(sent.get("actor"), None),
    }
    return Response.trusted(fields)


def _well_formed(
    context: AggregateContext, sent: Sent, record: CommandRecord, is_json: bool
) -> ReceivedCommand:
    aggregate_id = sent.get("aggregate_id")
    if isinstance(aggregate_id, str) and record.key != aggregate_id.encode(errors="replace"):
        raise _invalid("key", "the record's key is not the aggregate_id")
    try:
        envelope = _envelope(sent)
    except ValidationError as error:
        raise _invalid_fields(error) from error
    payload = _payload(context, envelope.payload, is_json)
    return _received(context, sliced(envelope), payload, record)


def _payload(context: AggregateContext, sent: Sent, is_json: bool) -> Command:
    name = sent.get("type")
    if not isinstance(name, str):
        raise _invalid("payload.type", "must name the command's type")
    known = context.aggregate.command_types
    if name not in known:
        message = f"{context.name} has no command {_short(name)!r}: it has {', '.join(known)}"
        raise CheckFailedError(Reason.UNKNOWN_TYPE, message, {"payload.type": _short(name)})
    fields = {key: sent[key] for key in sent if key != "type"}
    try:
        found = _validated(known[name], fields, is_json)
    except ValidationError as error:
        raise _invalid_fields(error, "payload.") from error
    if (path := nul_in(found)) is not None:
        raise _invalid(_short(f"payload.{path}"), "has the character NUL, which no text may have")
    if is_json and (place := _beyond(fields)) is not None:
        raise _invalid(_short(f"payload{place}"), "must be an integer from -2^63 to 2^63 - 1")
    return found


def _validated(kind: type[Command], fields: Sent, is_json: bool) -> Command:
    """Return the command; in JSON bytes are text, which Python's values need not be read for."""
    try:
        found: Command = kind.__pydantic_validator__.validate_python(fields)
    except ValidationError:
        if not is_json:
            raise
        found = kind.model_validate_json(to_json(fields, inf_nan_mode="constants"))
    return found


def _beyond(sent: Any) -> str | None:
    """Return the place of an integer that JSON can hold, and events cannot, or None."""
    if type(sent) is int:
        return None if -LARGEST - 1 <= sent <= LARGEST else ""
    if type(sent) is not dict and type(sent) is not list:
        return None
    for name, one in sent.items() if type(sent) is dict else enumerate(sent):
        if (found := _beyond(one)) is not None:
            return f".{name}{found}"
    return None


def _invalid(field: str, problem: str) -> CheckFailedError:
    return CheckFailedError(Reason.INVALID_COMMAND, f"{field}: {problem}", {field: problem})


def _invalid_fields(error: ValidationError, prefix: str = "") -> CheckFailedError:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    details: Details = {
        _short(prefix + ".".join(map(str, problem["loc"]))).rstrip("."): _short(
            problem["msg"].removeprefix("Value error, ")
        )
        for problem in problems[:SHOWN_PROBLEMS]
    }
    message = "; ".join(f"{field}: {problem}" for field, problem in details.items())
    return CheckFailedError(Reason.INVALID_COMMAND, message, details)


def _name_or(value: Any, default: str | None) -> str | None:
    try:
        return name_rule.validate_python(value, strict=True)
    except ValidationError:
        return default


def _short(text: str) -> str:
    return spell_out(text)[:SHOWN_CHARS]

"""From bytes to a command: everything that can be said of a record without knowing any state.

This is check 1 of the contract. Its answer is the same whenever it is asked, so nothing of it is
remembered.
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError
from pydantic_core import to_json

from verdict.model.command import Command
from verdict.model.command_envelope import CommandEnvelope, aggregate_id_rule, command_id_rule
from verdict.model.message import LARGEST, name_rule
from verdict.model.nul import nul_in, spell_out
from verdict.model.reason import Reason
from verdict.model.source import Source
from verdict.wire.avro.envelope import SlicedEnvelope, sliced
from verdict.wire.avro.writer import known_long, known_text, text_in, write_long
from verdict.wire.catalog import AggregateContext
from verdict.wire.codec import DecodeError
from verdict.wire.commands import JSON_OPENING, decode_command
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.error_text import described
from verdict.wire.response import Details
from verdict.wire.topics import KEY_BYTES, LARGEST_BYTES
from verdict.write_side.decide.digest import command_digest

SHOWN_PROBLEMS = 10
SHOWN_CHARS = 200

Default = TypeVar("Default", str, None)
ERROR_CHARS = 1000

_envelope = CommandEnvelope.__pydantic_validator__.validate_python


class CommandRecord(NamedTuple):
    """One record of a commands topic.

    Args:
        source: Its place.
        timestamp: Kafka's, in epoch milliseconds.
        key: As it was up to `KEY_BYTES`, of a longer one its beginning; None for none.
        value: Whole up to the command limit, else its beginning; None for none.
        length: Of the whole value, in bytes.
        sha256: Of the whole value when that was cut, else None.
        attempt: How many times a retry has brought it back so far.
        key_length: Of the whole key, in bytes.
        key_sha256: Of the whole key when that was cut, else None.
        reply_to: Says for whom the answer is to be copied, see `verdict.wire.headers`.
    """

    source: Source
    timestamp: int
    key: bytes | None
    value: bytes | None
    length: int
    sha256: bytes | None
    attempt: int = 0
    key_length: int = 0
    key_sha256: bytes | None = None
    reply_to: bytes | None = None

    @property
    def place(self) -> tuple[str, int, int]:
        """Topic, partition and offset: commands are decided in this order.

        The order of `Source` as a tuple, which Python compares much faster in a large batch.
        """
        return self.source.topic, self.source.partition, self.source.offset

    @property
    def cut(self) -> bool:
        """Whether the value is longer than a command may be."""
        return self.sha256 is not None


def truncate_command(
    source: Source,
    timestamp: int,
    key: bytes | None,
    value: bytes | None,
    limit: int,
    attempt: int = 0,
) -> CommandRecord:
    """Return a record as whoever decides gets it: cut where it is too long, as Spark cuts it."""
    length, key_length = len(value or b""), len(key or b"")
    return CommandRecord(
        source=source,
        timestamp=timestamp,
        key=key and key[:KEY_BYTES],
        value=value and value[:limit],
        length=length,
        sha256=sha256(value or b"").digest() if length > limit else None,
        attempt=attempt,
        key_length=key_length,
        key_sha256=sha256(key or b"").digest() if key_length > KEY_BYTES else None,
    )


class ReceivedCommand(NamedTuple):
    """A command that is well-formed; whether it may happen is for the aggregate to say.

    `source` is the place of its record as Avro writes it.
    """

    aggregate_type: str
    envelope: SlicedEnvelope
    payload: Command
    digest: bytes
    source: bytes
    record: CommandRecord


@dataclass(frozen=True, slots=True)
class MalformedCommand:
    """A record with the ids of a command that no aggregate could accept."""

    aggregate_type: str
    command_id: str
    aggregate_id: str
    correlation_id: str
    actor: str | None
    command_type: str | None
    reason: Reason
    message: str
    details: Details
    record: CommandRecord


class _MalformedError(Exception):
    def __init__(self, reason: Reason, message: str, details: Details) -> None:
        super().__init__(message)
        self.reason = reason
        self.details = details


def parse_command(
    context: AggregateContext, record: CommandRecord
) -> ReceivedCommand | MalformedCommand | DeadLetter:
    """Read a record as a command of an aggregate; pure, and it never raises."""
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
    except Exception:  # what is wrong, others find the words for
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
) -> ReceivedCommand | MalformedCommand | DeadLetter:
    """Read JSON, Avro of an older schema, and what is malformed; a command comes out as newest."""
    try:
        sent = decode_command(context, value)
    except DecodeError as error:
        return dead_letter(record, str(error))
    is_json = value[:1] == JSON_OPENING
    try:
        return _well_formed(context, sent, record, is_json)
    except _MalformedError as malformed:
        return _with_ids(context, sent, record, malformed)


def _with_ids(
    context: AggregateContext,
    sent: dict[str, Any],
    record: CommandRecord,
    malformed: "_MalformedError",
) -> MalformedCommand | DeadLetter:
    try:
        command_id = command_id_rule.validate_python(sent.get("command_id"), strict=True)
        aggregate_id = aggregate_id_rule.validate_python(sent.get("aggregate_id"), strict=True)
    except ValidationError:
        needed = "a command_id of 1 to 128 and an aggregate_id of 1 to 256 characters, no NUL"
        return dead_letter(record, f"nobody can be answered: a command needs {needed}")
    return MalformedCommand(
        aggregate_type=context.name,
        command_id=command_id,
        aggregate_id=aggregate_id,
        correlation_id=_name_or(sent.get("correlation_id"), command_id),
        actor=_name_or(sent.get("actor"), None),
        command_type=_command_type(context, sent),
        reason=malformed.reason,
        message=str(malformed),
        details=malformed.details,
        record=record,
    )


def dead_letter(record: CommandRecord, error: str) -> DeadLetter:
    """Return the letter that keeps `record`, with `error` as the reason.

    Whatever the record is, the letter fits its topic: of a value it keeps `LARGEST_BYTES` at most.
    """
    value: bytes | None = record.value
    return DeadLetter(
        source=record.source,
        error=error[:ERROR_CHARS],
        key=record.key,
        bytes=value if value is None else value[:LARGEST_BYTES],
        length=record.length,
        sha256=record.sha256 or sha256(value or b"").digest(),
        received_at=max(record.timestamp, 0),
        key_length=None if record.key_sha256 is None else record.key_length,
        key_sha256=record.key_sha256,
    )


def _well_formed(
    context: AggregateContext, sent: dict[str, Any], record: CommandRecord, is_json: bool
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


def _payload(context: AggregateContext, sent: dict[str, Any], is_json: bool) -> Command:
    name = sent.get("type")
    if not isinstance(name, str):
        raise _invalid("payload.type", "must name the command's type")
    known = context.aggregate.command_types
    if name not in known:
        message = f"{context.name} has no command {_short(name)!r}: it has {', '.join(known)}"
        raise _MalformedError(Reason.UNKNOWN_TYPE, message, {"payload.type": _short(name)})
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


def _validated(kind: type[Command], fields: dict[str, Any], is_json: bool) -> Command:
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


def _invalid(field: str, problem: str) -> _MalformedError:
    return _MalformedError(Reason.INVALID_COMMAND, f"{field}: {problem}", {field: problem})


def _invalid_fields(error: ValidationError, prefix: str = "") -> _MalformedError:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    details: Details = {
        _short(prefix + ".".join(map(str, problem["loc"]))).rstrip("."): _short(
            problem["msg"].removeprefix("Value error, ")
        )
        for problem in problems[:SHOWN_PROBLEMS]
    }
    message = "; ".join(f"{field}: {problem}" for field, problem in details.items())
    return _MalformedError(Reason.INVALID_COMMAND, message, details)


def _command_type(context: AggregateContext, sent: dict[str, Any]) -> str | None:
    payload = sent.get("payload")
    name = payload.get("type") if isinstance(payload, dict) else None
    return name if isinstance(name, str) and name in context.aggregate.command_types else None


def _name_or(value: Any, default: Default) -> str | Default:
    try:
        return name_rule.validate_python(value, strict=True)
    except ValidationError:
        return default


def _short(text: str) -> str:
    return spell_out(text)[:SHOWN_CHARS]

"""Commands to bytes and back: Avro from our clients, JSON from other senders."""

import json
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Sequence
from math import isinf
from typing import Any

from pydantic_core import from_json

from verdict.model.command_envelope import CommandEnvelope
from verdict.model.message import Fields, Message
from verdict.wire.catalog import AggregateContext
from verdict.wire.codec import HEADER_BYTES, DecodeError

JSON_OPENING = b"{"
SHOWN_CHARS = 100
UTF16 = (BOM_UTF16_LE, BOM_UTF16_BE, b"{\0", b"\0{")


def encode_command(context: AggregateContext, envelope: CommandEnvelope, payload: Message) -> bytes:
    """Return the framed Avro bytes of a command; `payload` replaces `envelope.payload`."""
    return context.commands.encode(envelope.model_copy(update={"payload": payload}))


def decode_command(context: AggregateContext, value: bytes) -> Fields:
    """Return the fields of an envelope as sent; `payload` has its `type`; raises `DecodeError`."""
    if value[:1] == JSON_OPENING:
        return read_json(value)
    try:
        found = context.commands.decode(value)
    except DecodeError as error:
        raise DecodeError(_json_mistake(value) or str(error)) from error
    name, payload = found["payload"]
    found["payload"] = {"type": name.rpartition(".")[2], **payload}
    return found


def read_json(value: bytes) -> Fields:
    """Return the fields of an envelope in JSON, unchecked; raises `DecodeError`."""
    if value[:1] != JSON_OPENING:
        raise DecodeError(_json_mistake(value) or "not a JSON object: it does not begin with {")
    try:
        found = from_json(value, allow_inf_nan=False)
    except ValueError as error:
        problem = str(error).replace("unexpected end of hex escape", "half of a surrogate pair")
        raise DecodeError(_json_mistake(value) or f"not JSON: {problem}") from error
    assert isinstance(found, dict)  # it began with a brace
    return found


def read_json_to_send(value: bytes) -> Fields:
    """Return the fields of an envelope in JSON that is to be sent, otherwise unchecked.

    Raises:
        DecodeError: The command processor could not read it, or readers may differ: a field is
            given twice, a number is too large.
    """
    found = read_json(value)
    json.loads(value, object_pairs_hook=_require_unique, parse_float=_require_finite)
    return found


def _require_unique(fields: Sequence[tuple[str, Any]]) -> Fields:
    found: Fields = {}
    for name, value in fields:
        if name in found:
            raise DecodeError(f"the field {name[:SHOWN_CHARS]!r} is given twice")
        found[name] = value
    return found


def _require_finite(number: str) -> float:
    if isinf(found := float(number)):
        raise DecodeError(f"the number {number[:SHOWN_CHARS]} is too large")
    return found


def _json_mistake(value: bytes) -> str | None:
    """Return why a value with JSON in it is no command, and what to send; None: unknown."""
    if value.startswith(UTF16):
        return "the value is text in UTF-16 or UTF-32: send JSON in UTF-8"
    if value.startswith(BOM_UTF8):
        return "the value begins with a byte order mark: send JSON without one, from the first { on"
    if value[:1].isspace() and _is_object(value):
        return "the value begins with a blank or a line break: send JSON from the first { on"
    if value[:1] == b"[" and _parsed(value) is not None:
        return "the value is a JSON array: send each command as a record of its own"
    if value[:1] == b'"' and isinstance(text := _parsed(value), str) and _is_object(text.encode()):
        return "the value is a JSON string that contains JSON: send the object, encoded once"
    if value[:1] == b"\0" and _is_object(value[HEADER_BYTES:]):
        return (
            "JSON follows a Confluent header (a zero byte and a 4-byte schema id): "
            "send the JSON without the header"
        )
    return None


def _is_object(value: bytes) -> bool:
    return isinstance(_parsed(value), dict)


def _parsed(value: bytes) -> object:
    try:
        return from_json(value)
    except ValueError:
        return None

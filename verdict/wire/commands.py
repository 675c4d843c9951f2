"""Commands to bytes and back: Avro from our clients, JSON from every other sender."""

import json
from collections.abc import Sequence
from math import isinf
from typing import Any

from pydantic_core import from_json

from verdict.model.command_envelope import CommandEnvelope
from verdict.model.message import Message
from verdict.wire.catalog import AggregateContext
from verdict.wire.codec import DecodeError
from verdict.wire.json_mistake import json_mistake

JSON_OPENING = b"{"
SHOWN_CHARS = 100


def encode_command(context: AggregateContext, envelope: CommandEnvelope, payload: Message) -> bytes:
    """Return the framed Avro bytes of a command; `envelope.payload` is replaced by `payload`."""
    return context.commands.encode(envelope.model_copy(update={"payload": payload}))


def decode_command(context: AggregateContext, value: bytes) -> dict[str, Any]:
    """Return the envelope's fields as they were sent, unchecked; `payload` carries its `type`.

    Raises:
        DecodeError: The bytes are neither a JSON object nor an Avro command of this aggregate.
    """
    if value[:1] == JSON_OPENING:
        return read_json(value)
    try:
        found = context.commands.decode(value)
    except DecodeError as error:
        raise DecodeError(json_mistake(value) or str(error)) from error
    name, payload = found["payload"]
    found["payload"] = {"type": name.rpartition(".")[2], **payload}
    return found


def read_json(value: bytes) -> dict[str, Any]:
    """Return the fields of an envelope in JSON, unchecked.

    Raises:
        DecodeError: The bytes are no JSON object.
    """
    if value[:1] != JSON_OPENING:
        raise DecodeError(json_mistake(value) or "not a JSON object: it does not begin with {")
    try:
        found = from_json(value, allow_inf_nan=False)
    except ValueError as error:
        problem = str(error).replace("unexpected end of hex escape", "half of a surrogate pair")
        raise DecodeError(json_mistake(value) or f"not JSON: {problem}") from error
    assert isinstance(found, dict)  # it began with a brace
    return found


def read_json_to_send(value: bytes) -> dict[str, Any]:
    """Return the fields of an envelope in JSON that somebody wants to send, unchecked.

    Raises:
        DecodeError: The command processor could not read it, or it would read something else than
            other readers may: a field that is given twice, a number that is too large.
    """
    found = read_json(value)
    json.loads(value, object_pairs_hook=_require_unique, parse_float=_require_finite)
    return found


def _require_unique(fields: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in fields:
        if name in found:
            raise DecodeError(f"the field {name[:SHOWN_CHARS]!r} is given twice")
        found[name] = value
    return found


def _require_finite(number: str) -> float:
    if isinf(found := float(number)):
        raise DecodeError(f"the number {number[:SHOWN_CHARS]} is too large")
    return found

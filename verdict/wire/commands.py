"""Commands to bytes and back: Avro from our clients, JSON from every other hand."""

from typing import Any

from pydantic_core import from_json

from verdict.model.command_envelope import CommandEnvelope
from verdict.model.message import Message
from verdict.wire.codec import Undecodable, codec

JSON_OPENING = b"{"


def encode_command(aggregate_type: str, envelope: CommandEnvelope, payload: Message) -> bytes:
    """Return the framed Avro bytes of a command; `envelope.payload` is replaced by `payload`."""
    return codec(f"{aggregate_type}_command").encode(
        envelope.model_copy(update={"payload": payload})
    )


def decode_command(aggregate_type: str, value: bytes) -> dict[str, Any]:
    """Return the envelope's fields as they were sent, unchecked; `payload` carries its `type`.

    Raises:
        Undecodable: The bytes are neither a JSON object nor an Avro command of this aggregate.
    """
    if value[:1] == JSON_OPENING:
        return _from_json(value)
    found = codec(f"{aggregate_type}_command").decode(value)
    name, payload = found["payload"]
    found["payload"] = {"type": name.rpartition(".")[2], **payload}
    return found


def _from_json(value: bytes) -> dict[str, Any]:
    try:
        found = from_json(value, allow_inf_nan=False)
    except ValueError as error:
        raise Undecodable(f"not JSON: {error}") from error
    assert isinstance(found, dict)  # it began with a brace
    return found

"""Records and payloads as JSON for people and other languages, and payloads from JSON."""

from dataclasses import asdict
from functools import cache
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic_core import from_json, to_json

from verdict.model.command_envelope import CommandEnvelope
from verdict.model.message import Event, JsonObject, iso_time
from verdict.model.nul import nul_in
from verdict.model.recorded_event import RecordedEvent
from verdict.wire.catalog import AggregateContext
from verdict.wire.commands import decode_command
from verdict.wire.response import Response


def readable(record: Any) -> JsonObject:
    """Return a message, an event or a dataclass as values that JSON can carry.

    Times become ISO 8601 in UTC, hashes hexadecimal, other bytes base64; a payload has its `type`.
    """
    if isinstance(record, Response):
        return readable_fields(record)
    if isinstance(record, BaseModel):
        return {"type": type(record).__name__, **readable_fields(record)}
    if isinstance(record, RecordedEvent):
        return record._asdict() | {
            "command_digest": record.command_digest.hex(),
            "decided_at": iso_time(record.decided_at),
            "source": asdict(record.source),
            "previous_hash": record.previous_hash.hex(),
            "payload": readable(record.payload),
        }
    shown: JsonObject = _adapter(record.__class__).dump_python(record, mode="json")
    return shown


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def readable_fields(message: BaseModel) -> JsonObject:
    """Return the fields of a message as `readable` does, without a `type`."""
    return message.model_dump(mode="json", warnings=False)


def payload_json(payload: Event) -> str:
    """Return a payload as JSON, as `readable` does; each archived event needs it."""
    fields = payload.__pydantic_serializer__.to_json(payload, warnings=False).decode()
    comma = "," if len(fields) > len("{}") else ""
    return f'{{"type":"{type(payload).__name__}"{comma}{fields[1:]}'


def payload_from(kind: type[Event], document: str | bytes) -> Event:
    """Return the payload in a JSON object; raises `ValueError` if it is no payload of the class."""
    fields = from_json(document)
    if not isinstance(fields, dict):
        raise ValueError("a payload is a JSON object")
    if (named := fields.pop("type", kind.__name__)) != kind.__name__:
        raise ValueError(f"its type is {named!r}, and the event is of {kind.__name__}")
    payload = kind.model_validate_json(to_json(fields))
    if (path := nul_in(payload)) is not None:
        raise ValueError(f"{path} has the character NUL, which PostgreSQL cannot store")
    return payload


def readable_command(context: AggregateContext, value: bytes) -> JsonObject:
    """Return a command with its envelope, as sent if it is not valid; raises `DecodeError`."""
    sent = decode_command(context, value)
    try:
        payload = dict(sent["payload"])
        fields = readable_fields(CommandEnvelope.model_validate(sent | {"payload": {}}))
        kind = context.aggregate.command_types[payload.pop("type")]
        return fields | {"payload": readable(kind.model_validate(payload))}
    except Exception:  # of its class, or of a bug in it
        return sent

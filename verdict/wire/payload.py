"""Payloads as JSON that people write: the fields of an event or a command, and its `type`."""

from typing import Any

from pydantic_core import from_json, to_json

from verdict.model.command_envelope import CommandEnvelope
from verdict.model.message import Event
from verdict.model.nul import nul_in
from verdict.wire.catalog import AggregateContext
from verdict.wire.commands import decode_command
from verdict.wire.json import readable, readable_fields


def payload_json(payload: Event) -> str:
    """Return the payload as JSON with its `type`; times are ISO 8601."""
    return to_json(readable(payload)).decode()


def payload_from(kind: type[Event], document: str | bytes) -> Event:
    """Return the payload that a JSON object says.

    Fields that it lacks have their defaults, as when an event of an older schema is read.

    Raises:
        ValueError: It is no JSON object, of another type, or breaks the rules of its class.
    """
    fields = from_json(document)
    if not isinstance(fields, dict):
        raise ValueError("a payload is a JSON object")
    if (named := fields.pop("type", kind.__name__)) != kind.__name__:
        raise ValueError(f"its type is {named!r}, and the event is of {kind.__name__}")
    payload = kind.model_validate_json(to_json(fields))
    if (path := nul_in(payload)) is not None:
        raise ValueError(f"{path} has the character NUL, which PostgreSQL cannot store")
    return payload


def readable_command(context: AggregateContext, value: bytes) -> dict[str, Any]:
    """Return a command with its envelope; one that is not well-formed as it was sent.

    Raises:
        DecodeError: It is no command at all.
    """
    sent = decode_command(context, value)
    try:
        fields = readable_fields(CommandEnvelope.model_validate(sent))
        payload = dict(sent["payload"])
        kind = context.aggregate.command_types[payload.pop("type")]
        return fields | {"payload": readable(kind.model_validate(payload))}
    except Exception:  # it was refused by its class, or by a bug in that
        return sent

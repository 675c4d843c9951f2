"""Records and payloads as JSON for people and other languages, and payloads from JSON."""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache, partial
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic_core import from_json, to_json

from verdict.model.command_envelope import CommandEnvelope
from verdict.model.field_types import unwrapped
from verdict.model.message import Event, HexBytes, JsonObject, TimestampMillis, iso_time
from verdict.model.nul import nul_in
from verdict.wire.catalog import AggregateContext
from verdict.wire.commands import decode_command
from verdict.wire.response import Response
from verdict.wire.schemas.derive import field_names

Show = Callable[[Any], Any]
ToJson = Callable[[Any], JsonObject]

SCALARS = {str, int, bool, type(None)}


def readable(record: Any) -> JsonObject:
    """Return `record` (a dataclass or a message) as values that JSON can carry.

    Times become ISO 8601 in UTC, hashes hexadecimal, other bytes base64; a payload has its `type`.
    """
    return _whole(record.__class__)(record)


def readable_fields(message: BaseModel) -> JsonObject:
    """Return the fields of a message as `readable` does, without a `type`."""
    return _fields(message.__class__)(message)


@cache
def _whole(cls: Any) -> ToJson:
    if issubclass(cls, Response):
        return lambda record: record.model_dump(mode="json")
    shown, name = _fields(cls), cls.__name__
    if issubclass(cls, BaseModel):
        return lambda record: {"type": name, **shown(record)}
    return shown


@cache
def _fields(cls: Any) -> ToJson:
    """Return what shows the fields of a class; most messages need no conversion."""
    shows = _shows(cls)
    if issubclass(cls, BaseModel) and all(show is as_it_is for _, show in shows):
        names = [name for name, _ in shows]
        return lambda record: {name: record.__dict__[name] for name in names}
    return lambda record: {name: show(getattr(record, name)) for name, show in shows}


def _shows(cls: type[Any]) -> tuple[tuple[str, Show], ...]:
    hints = get_type_hints(cls, include_extras=True)
    # a field of a message tells the type of its value; an envelope does not
    message = readable_fields if issubclass(cls, BaseModel) else readable
    return tuple((name, show_of(hints[name], message)) for name in field_names(cls))


def show_of(annotation: Any, message: Show = readable_fields) -> Show:
    """Return what converts values of a type for JSON."""
    inner, marks = unwrapped(annotation)
    if (show := _show(inner, marks, message)) is as_it_is:
        return show
    return lambda value: None if value is None else show(value)


def _show(inner: Any, marks: tuple[Any, ...], message: Show) -> Show:
    if any(isinstance(mark, TimestampMillis) for mark in marks):
        return iso_time
    if any(isinstance(mark, HexBytes) for mark in marks):
        return bytes.hex
    if inner is bytes:
        return _base64
    if _is_scalar(inner):
        return as_it_is
    if get_origin(inner) in (list, tuple, dict):
        *_, of = (one for one in get_args(inner) if one is not ...)
        each = show_of(of, message)
        return each if each is as_it_is else partial(_each, each)
    return partial(_by_class, message)


def _is_scalar(annotation: Any) -> bool:
    """Return whether JSON carries every value of this type as it is."""
    if get_origin(annotation) in (Union, UnionType):
        return all(map(_is_scalar, get_args(annotation)))
    return get_origin(annotation) is Literal or annotation in SCALARS


def as_it_is(value: Any) -> Any:
    """Return the value."""
    return value


def _base64(value: bytes) -> str:
    return b64encode(value).decode()


def _each(show: Show, value: Any) -> Any:
    if isinstance(value, dict):
        return {name: show(one) for name, one in value.items()}
    return [show(one) for one in value]


def _by_class(message: Show, value: Any) -> Any:
    if is_dataclass(value):
        return readable(value)
    return message(value) if isinstance(value, BaseModel) else value


def payload_json(payload: Event) -> str:
    """Return a payload as JSON with its `type`; times are ISO 8601."""
    return to_json(readable(payload)).decode()


def payload_from(kind: type[Event], document: str | bytes) -> Event:
    """Return the payload in a JSON object; missing fields have their defaults.

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


def readable_command(context: AggregateContext, value: bytes) -> JsonObject:
    """Return a command with its envelope, as it was sent if it is not well-formed.

    Raises:
        DecodeError: It is no command at all.
    """
    sent = decode_command(context, value)
    try:
        fields = readable_fields(CommandEnvelope.model_validate(sent))
        payload = dict(sent["payload"])
        kind = context.aggregate.command_types[payload.pop("type")]
        return fields | {"payload": readable(kind.model_validate(payload))}
    except Exception:  # of its class, or of a bug in it
        return sent

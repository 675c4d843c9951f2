"""Records as people and other languages read them: JSON with ISO times and hexadecimal hashes."""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache, partial
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from verdict.model.annotation import unwrapped
from verdict.model.message import HexBytes, TimestampMillis, iso_time
from verdict.wire.response import Response
from verdict.wire.schemas.derive import field_names

Show = Callable[[Any], Any]
Shown = Callable[[Any], dict[str, Any]]

SCALARS = {str, int, bool, type(None)}


def readable(record: Any) -> dict[str, Any]:
    """Return `record` (a dataclass or a message) as values that JSON can carry.

    Times become ISO 8601 in UTC, hashes hexadecimal, other bytes base64; a payload carries its
    `type`.
    """
    return _whole(record.__class__)(record)


def readable_fields(message: BaseModel) -> dict[str, Any]:
    """Return the fields of a message as `readable` does, without the `type` of a payload."""
    return _fields(message.__class__)(message)


@cache
def _whole(cls: Any) -> Shown:
    if issubclass(cls, Response):
        return lambda record: record.model_dump(mode="json")
    shown, name = _fields(cls), cls.__name__
    if issubclass(cls, BaseModel):
        return lambda record: {"type": name, **shown(record)}
    return shown


@cache
def _fields(cls: Any) -> Shown:
    """Return what shows the fields of a class; of most events and commands all are as they are."""
    shows = _shows(cls)
    if issubclass(cls, BaseModel) and all(show is as_it_is for _, show in shows):
        names = [name for name, _ in shows]
        return lambda record: {name: record.__dict__[name] for name in names}
    return lambda record: {name: show(getattr(record, name)) for name, show in shows}


def _shows(cls: type[Any]) -> tuple[tuple[str, Show], ...]:
    hints = get_type_hints(cls, include_extras=True)
    # in a message the field says which type a message has; an envelope does not
    message = readable_fields if issubclass(cls, BaseModel) else readable
    return tuple((name, show_of(hints[name], message)) for name in field_names(cls))


def show_of(annotation: Any, message: Show = readable_fields) -> Show:
    """Return what shows the values of a type as values that JSON can carry."""
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
    """Tell whether JSON carries every value of this type as it is."""
    if get_origin(annotation) in (Union, UnionType):
        return all(map(_is_scalar, get_args(annotation)))
    return get_origin(annotation) is Literal or annotation in SCALARS


def as_it_is(value: Any) -> Any:
    """Show a value that JSON carries."""
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

"""Records as people and other languages read them: JSON with ISO times and hexadecimal hashes."""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from verdict.model.message import HexBytes, TimestampMillis, iso_time
from verdict.wire.avro_schema import field_names
from verdict.wire.response import Response

Show = Callable[[Any], Any]
Shown = Callable[[Any], dict[str, Any]]

SCALARS = {str, int, bool, type(None)}


def readable(record: Any) -> dict[str, Any]:
    """Return `record` (a dataclass or a message) as values that JSON can carry.

    Times become ISO 8601 in UTC, hashes hexadecimal, other bytes base64; a payload carries its
    `type`.
    """
    return _whole(record.__class__)(record)


@cache
def _whole(cls: Any) -> Shown:
    if issubclass(cls, Response):
        return lambda record: record.model_dump(mode="json")
    shown, name = _fields(cls), cls.__name__
    if issubclass(cls, BaseModel):
        return lambda record: {"type": name, **shown(record)}
    return shown


def _shown(record: Any) -> dict[str, Any]:
    return _fields(record.__class__)(record)


@cache
def _fields(cls: Any) -> Shown:
    """Return what shows the fields of a class; of most events and commands all are as they are."""
    shows = _shows(cls)
    if issubclass(cls, BaseModel) and all(show is _as_it_is for _, show in shows):
        names = [name for name, _ in shows]
        return lambda record: {name: record.__dict__[name] for name in names}
    return lambda record: {name: show(getattr(record, name)) for name, show in shows}


def _shows(cls: type[Any]) -> tuple[tuple[str, Show], ...]:
    hints = get_type_hints(cls, include_extras=True)
    other = _part if issubclass(cls, BaseModel) else _plain
    return tuple((name, _show(hints[name], other)) for name in field_names(cls))


def _show(annotation: Any, other: Show) -> Show:
    """Return how a field of this type is shown, `other` if its type alone does not say it."""
    marks = _marks(annotation)
    if any(isinstance(mark, TimestampMillis) for mark in marks):
        return lambda value: None if value is None else iso_time(value)
    if any(isinstance(mark, HexBytes) for mark in marks):
        return lambda value: None if value is None else value.hex()
    return _as_it_is if _is_scalar(annotation) else other


def _marks(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) is Annotated:
        return tuple(get_args(annotation)[1:])
    if get_origin(annotation) in (Union, UnionType):
        return tuple(mark for member in get_args(annotation) for mark in _marks(member))
    return ()


def _is_scalar(annotation: Any) -> bool:
    """Tell whether JSON carries every value of this type as it is."""
    origin, members = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _is_scalar(members[0])
    if origin in (Union, UnionType):
        return all(map(_is_scalar, members))
    return origin is Literal or annotation in SCALARS


def _as_it_is(value: Any) -> Any:
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if is_dataclass(value):
        return _shown(value)
    if isinstance(value, BaseModel):
        return readable(value)
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    return value


def _part(value: Any) -> Any:
    """Show what a message holds: there the field says which type it is."""
    if isinstance(value, BaseModel):
        return _shown(value)
    return [_part(member) for member in value] if isinstance(value, list) else _plain(value)

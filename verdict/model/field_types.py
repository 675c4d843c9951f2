"""Which types the fields of messages may have: those that Avro gives back as they were."""

import re
from collections import Counter
from collections.abc import Iterator
from keyword import iskeyword
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from verdict.model.message import OpenEnum
from verdict.model.personal import messages_in

SCALARS = {int, str, bytes, bool}
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")  # a name or symbol of Avro's
COLUMN_CHARS = 56  # PostgreSQL allows 63 bytes, and we add a prefix
SPELLING = "take a letter from A to Z, then letters, digits and _"
ADVICE = (
    "take int, str, bytes, bool, a Literal of words, list[…], dict[str, …], another message, or "
    "one of these or None"
)


def unsupported(kind: type[BaseModel], holders: frozenset[type] = frozenset()) -> Iterator[str]:
    """Yield why the type of a field cannot be kept; `holders` are the messages around `kind`."""
    for name, field in kind.model_fields.items():
        yield from _unsupported(_annotated(field), f"{kind.__name__}.{name}", holders | {kind})


def _unsupported(annotation: Any, field: str, holders: frozenset[type]) -> Iterator[str]:
    origin, members = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        if not any(isinstance(mark, OpenEnum) for mark in members[1:]):
            yield from _unsupported(members[0], field, holders)
    elif origin in (Union, UnionType):
        yield from _unsupported_choice(members, field, holders)
    elif origin is Literal:
        if not all(isinstance(one, str) and WORD.fullmatch(one) for one in members):
            yield f"{field} is {annotation}, of which not all are words"
    elif (origin is list and members) or (origin is dict and members[0] is str):
        yield from _unsupported(members[-1], field, holders)
    elif annotation in holders:
        yield f"{field} is {annotation.__name__}, which holds itself"
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from unsupported(annotation, holders)
    elif annotation not in SCALARS:
        yield f"{field} is {_shown(annotation)}, which would not be read as it was written"


def _unsupported_choice(
    members: tuple[Any, ...], field: str, holders: frozenset[type]
) -> Iterator[str]:
    first, *others = (one for one in members if one is not NoneType)
    if not others:
        yield from _unsupported(first, field, holders)
        return
    several = " or ".join(map(_shown, (first, *others)))
    yield f"{field} is {several}, and a record does not show which: make a field of each"


def misnamed(kind: type[BaseModel], what: str = "") -> Iterator[str]:
    """Yield why a field, or the class, cannot have its name."""
    if not WORD.fullmatch(kind.__name__):
        yield f"{kind.__name__} is no name for a record: {SPELLING}"
    for name in kind.__private_attributes__:
        yield f"{kind.__name__}.{name} is private and would be lost: begin its name with a letter"
    alike = Counter(name.lower() for name in kind.model_fields) if what == "state" else {}
    for name, field in kind.model_fields.items():
        if problem := _problem(name, field, what):
            yield f"{kind.__name__}.{name} {problem}"
        elif alike.get(name.lower(), 1) > 1:
            yield f"{kind.__name__}.{name} differs from another field by case only: rename one"
        for inner, _ in messages_in(_annotated(field)):
            yield from misnamed(inner)


def _problem(name: str, field: FieldInfo, what: str) -> str | None:
    """Return why a field cannot have its name."""
    if name == "type" and what in ("command", "event"):
        return f"would replace the name of the {what} in JSON: rename it, for example to kind"
    if not WORD.fullmatch(name) or iskeyword(name):
        return f"is no name for a field: {SPELLING}, and no keyword of Python"
    if what == "state" and len(name) > COLUMN_CHARS:
        return f"has {len(name)} characters, and a column at most {COLUMN_CHARS}: shorten its name"
    if name.startswith("model_") and hasattr(BaseModel, name):
        return "would hide what pydantic calls so: rename it"
    if any((field.alias, field.validation_alias, field.serialization_alias)):
        return "has an alias, which records do not have: rename the field instead"
    return None


def _annotated(field: FieldInfo) -> Any:
    """Return the type of a field with its marks."""
    return Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation


def _shown(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def unwrapped(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a type without its marks and `| None`, and the marks."""
    origin, members = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        inner, marks = unwrapped(members[0])
        return inner, (*marks, *members[1:])
    if origin in (Union, UnionType):
        rest = [member for member in members if member is not NoneType]
        return unwrapped(rest[0]) if len(rest) == 1 else (annotation, ())
    return annotation, ()


def is_optional(annotation: Any) -> bool:
    """Return whether None is a value of the type."""
    if get_origin(annotation) is Annotated:
        return is_optional(get_args(annotation)[0])
    return get_origin(annotation) in (Union, UnionType) and NoneType in get_args(annotation)

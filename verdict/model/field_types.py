"""Which types the fields of messages may have: those that Avro gives back as they were."""

import re
from collections import Counter
from collections.abc import Iterator
from keyword import iskeyword
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from verdict.model.message import Message, OpenEnum
from verdict.model.personal import messages_in

SCALARS = {int, str, bytes, bool}
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")  # a name or symbol of Avro's
COLUMN_CHARS = 56  # PostgreSQL allows 63 bytes, and we add a prefix
SPELLING = "take a letter from A to Z, then letters, digits and _"
ADVICE = (
    "take int, str, bytes, bool, a Literal of words, list[…], dict[str, …], another message, or "
    "one of these or None"
)


def unsupported(
    kind: type[BaseModel], seen: frozenset[type] = frozenset(), *, of_state: bool = False
) -> Iterator[str]:
    """Yield why the type of a field cannot be kept."""
    look = _Look(seen | {kind}, of_state)
    for name, field in kind.model_fields.items():
        yield from look.of(_annotated(field), f"{kind.__name__}.{name}")


def misnamed(kind: type[Message], what: str = "") -> Iterator[str]:
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
    if name.startswith("model_") and hasattr(Message, name):
        return "would hide what pydantic calls so: rename it"
    if any((field.alias, field.validation_alias, field.serialization_alias)):
        return "has an alias, which records do not have: rename the field instead"
    return None


class _Look(NamedTuple):
    """Checks the fields of one class."""

    holders: frozenset[type]
    of_state: bool

    def of(self, annotation: Any, field: str) -> Iterator[str]:
        origin, members = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            if not any(isinstance(mark, OpenEnum) for mark in members[1:]):
                yield from self.of(members[0], field)
        elif origin in (Union, UnionType):
            yield from self._of_one([one for one in members if one is not type(None)], field)
        elif origin is Literal:
            if not all(isinstance(one, str) and WORD.fullmatch(one) for one in members):
                yield f"{field} is {annotation}, of which not all are words"
        elif origin is list and members:
            yield from self.of(members[0], field)
        elif origin is dict and members[0] is str:
            yield from self.of(members[1], field)
        elif _is_message(annotation):
            inside = f"{field} is {annotation.__name__}, which holds itself"
            deeper = unsupported(annotation, self.holders, of_state=self.of_state)
            yield from [inside] if annotation in self.holders else deeper
        elif annotation not in SCALARS:
            yield f"{field} is {_shown(annotation)}, which would not be read as it was written"

    def _of_one(self, members: list[Any], field: str) -> Iterator[str]:
        if len(members) > 1 and not (self.of_state and _can_be_told_apart(members)):
            several = " or ".join(map(_shown, members))
            yield f"{field} is {several}, and a record does not show which: make a field of each"
            return
        for one in members:
            yield from self.of(one, field)


def _can_be_told_apart(members: list[Any]) -> bool:
    """Return whether no value of one message could be one of another."""
    return all(map(_is_message, members)) and not any(
        _might_be(one, other) for one in members for other in members if one is not other
    )


def _might_be(one: type[BaseModel], other: type[BaseModel]) -> bool:
    required = {name for name, field in other.model_fields.items() if field.is_required()}
    return required <= one.model_fields.keys() <= other.model_fields.keys()


def _annotated(field: FieldInfo) -> Any:
    """Return the type of a field with its marks."""
    return Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation


def _is_message(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


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

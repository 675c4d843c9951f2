"""What is personal is said once, on the field that holds it; whoever hands data on asks here."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from schemas.message import Message


class Personal:
    """Marks a field that tells who a person is or where they can be found.

    Write it `field: Annotated[Text, Personal()]`.
    """


def masked(message: Message) -> dict[str, Any]:
    """Return the fields of a message as plain values, None in place of what is personal.

    Args:
        message: Of any depth; messages in it, and lists of them, are masked too.
    """
    return {
        name: None if name in personal_fields(type(message)) else _masked(getattr(message, name))
        for name in type(message).model_fields
    }


@cache
def personal_fields(kind: type[Message]) -> frozenset[str]:
    """Return the fields of `kind` that are marked as personal, not those of messages in it."""
    hints: Mapping[str, Any] = get_type_hints(kind, include_extras=True)
    return frozenset(name for name in kind.model_fields if _is_personal(hints[name]))


def _is_personal(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        inner, *marks = get_args(annotation)
        return any(isinstance(mark, Personal) for mark in marks) or _is_personal(inner)
    return any(map(_is_personal, get_args(annotation)))  # of a union, a list


def _masked(value: Any) -> Any:
    if isinstance(value, Message):
        return masked(value)
    if isinstance(value, list):
        return [_masked(one) for one in value]
    return value

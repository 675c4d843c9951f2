"""Personal fields: each is marked once, and masked for readers."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import GetJsonSchemaHandler
from pydantic_core import CoreSchema

from verdict.model.message import Fields, JsonObject, Message


class Personal:
    """Marks a field with personal data: `field: Annotated[Text, Personal()]`."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonObject:
        """Return the schema, with null for readers."""
        schema = handler(core)
        if handler.mode == "validation":
            return schema
        return {"anyOf": [schema, {"type": "null"}]}


def masked(message: Message) -> Fields:
    """Return the fields of a message as plain values, None for personal ones at any depth."""
    return {
        name: None if name in personal_fields(type(message)) else _masked(getattr(message, name))
        for name in type(message).model_fields
    }


@cache
def personal_paths(kind: type[Message]) -> tuple[tuple[str, ...], ...]:
    """Return the path of each field that `masked` empties, through messages in messages.

    A list or dict of messages with personal fields counts as a whole.
    """
    found: list[tuple[str, ...]] = []
    hints = get_type_hints(kind)
    for name in kind.model_fields:
        if name in personal_fields(kind):
            found.append((name,))
            continue
        for inner, among_others in messages_in(hints[name]):
            paths = personal_paths(inner)
            found += [(name,)] if among_others and paths else [(name, *path) for path in paths]
    return tuple(dict.fromkeys(found))


def messages_in(
    annotation: Any, among_others: bool = False
) -> Iterator[tuple[type[Message], bool]]:
    """Yield the classes of messages in a field, and whether they are in a list or dict."""
    if isinstance(annotation, type) and issubclass(annotation, Message):
        yield annotation, among_others
    for part in get_args(annotation):
        yield from messages_in(part, among_others or get_origin(annotation) in (list, dict))


@cache
def personal_fields(kind: type[Message]) -> frozenset[str]:
    """Return the marked fields of `kind`, not those of messages in it."""
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
    if isinstance(value, dict):
        return {name: _masked(one) for name, one in value.items()}
    return value

"""What a type annotation says, without its marks."""

from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin


def unwrapped(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the type behind marks and an optional, and the marks."""
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

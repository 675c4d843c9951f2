r"""The character NUL in texts: PostgreSQL cannot store it, so a command with one is rejected.

An event may contain one because of a bug in the rules: readers get the two characters `\0`.
"""

from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from verdict.model.message import NO_NUL, Model

NUL, SPELLED = "\0", "\\0"


def nul_in(message: BaseModel) -> str | None:
    """Return the path of a text with a NUL, such as `lines.0.note`; None if there is none."""
    for name in _free_texts(message.__class__):
        if (path := _path(message.__dict__[name], name)) is not None:
            return path
    return None


def _path(value: Any, place: str) -> str | None:
    if isinstance(value, str):
        return place if NUL in value else None
    if isinstance(value, BaseModel):
        inner = nul_in(value)
        return None if inner is None else f"{place}.{inner}"
    if isinstance(value, dict):
        if any(NUL in key for key in value):
            return place
        inside = [(str(key), member) for key, member in value.items()]
    else:
        inside = [(str(at), member) for at, member in enumerate(value)] if _is_list(value) else []
    return next(filter(None, (_path(member, f"{place}.{at}") for at, member in inside)), None)


def spell_out_nul_in(message: Model) -> Model:
    """Return a message with each NUL spelled out; the same one if it has none."""
    if nul_in(message) is None:
        return message
    fields = {
        name: spell_out_nul(message.__dict__[name]) for name in _free_texts(message.__class__)
    }
    return message.model_copy(update=fields)


def spell_out(text: str) -> str:
    """Return a text with each NUL spelled out."""
    return text.replace(NUL, SPELLED)


def spell_out_nul(value: Any) -> Any:
    """Return a value of a message or of JSON with each NUL spelled out."""
    if isinstance(value, str):
        return spell_out(value)
    if isinstance(value, BaseModel):
        return spell_out_nul_in(value)
    if isinstance(value, dict):
        return {spell_out_nul(key): spell_out_nul(member) for key, member in value.items()}
    return [spell_out_nul(member) for member in value] if _is_list(value) else value


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


@cache
def _free_texts(kind: type[BaseModel]) -> tuple[str, ...]:
    """Return the fields whose type allows a NUL."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(name for name in kind.model_fields if _is_free(hints[name]))


def _is_free(annotation: Any) -> bool:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        is_bound = any(getattr(mark, "pattern", None) == NO_NUL for mark in parts[1:])
        return not is_bound and _is_free(parts[0])
    if origin is Literal:
        return False
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return bool(_free_texts(annotation))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return False
    return annotation is str or any(map(_is_free, parts))

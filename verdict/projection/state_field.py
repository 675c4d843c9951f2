"""Fields of an aggregate's state as columns of a table, and back."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter
from pydantic.fields import FieldInfo
from pydantic_core import to_json
from sqlalchemy import BigInteger, Boolean, LargeBinary, Text
from sqlalchemy.types import TypeEngine

from verdict.database.instant import InstantType
from verdict.model.message import Message, TimestampMillis
from verdict.model.personal import personal_paths
from verdict.projection.hidden import PERSONAL
from verdict.projection.identifiers import SYSTEM_COLUMNS

ENGINES = {"aggregate_id", "version", "present", "group_key", "life_cycle", "decided_at"}
SHOWN = {"id", "global_position"}

Convert = Callable[[Any], Any]

SCALARS: dict[type, type[TypeEngine[Any]]] = {
    bool: Boolean, int: BigInteger, str: Text, bytes: LargeBinary,
}  # fmt: skip


@dataclass(frozen=True)
class StateField:
    """A field of a state, and its column.

    Args:
        name: Of the field.
        shown: Its name in the view: that of the field, unless the view has one of that name.
        column: Its name in the table, which says whether it is personal.
        type: Of the column.
        about: A sentence about it.
        kept: Value of the field → value of the column.
        state: Value of the column → value of the field.
        is_as_it_is: Whether both are the same.
    """

    name: str
    shown: str
    column: str
    type: TypeEngine[Any]
    about: str
    kept: Convert
    state: Convert
    is_as_it_is: bool = False

    @property
    def is_json(self) -> bool:
        """Whether the column is the text of a JSON value."""
        return self.kept is _as_json

    @property
    def is_personal(self) -> bool:
        """Whether it holds something personal, anywhere in it."""
        return self.column.startswith(PERSONAL)


def state_fields(state: type[Message]) -> tuple[StateField, ...]:
    """Return the fields of a state, in their order.

    Raises:
        TypeError: A field has a type that no column can hold.
    """
    hints = get_type_hints(state, include_extras=True)
    personal = {path[0] for path in personal_paths(state)}
    return tuple(
        _field(name, hints[name], info, name in personal)
        for name, info in state.model_fields.items()
    )


def _field(name: str, annotation: Any, info: FieldInfo, is_personal: bool) -> StateField:
    shown = f"state_{name}" if name in ENGINES | SHOWN | SYSTEM_COLUMNS else name
    column = PERSONAL + shown if is_personal else shown
    about = info.description or f"`{name}` of the state that the rules keep."
    kind, told, kept, state = _held(annotation, about)
    return StateField(name, shown, column, kind, told, kept, state, kept is _same)


def _held(annotation: Any, about: str) -> tuple[TypeEngine[Any], str, Convert, Convert]:
    """Return how a column holds values of a type: plain ones as they are, others as JSON."""
    plain, marks = _plain(annotation)
    if any(isinstance(mark, TimestampMillis) for mark in marks):
        return InstantType(), about, _same, _same
    if plain in SCALARS:
        return SCALARS[plain](), about, _same, _same
    adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    return Text(), about, _as_json, partial(_from_json, adapter)


def _plain(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the type behind marks, an optional and words; and the marks."""
    origin, members = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        plain, marks = _plain(members[0])
        return plain, (*marks, *members[1:])
    if origin in (Union, UnionType):
        rest = [member for member in members if member is not NoneType]
        return _plain(rest[0]) if len(rest) == 1 else (annotation, ())
    if origin is Literal and len(kinds := {*map(type, members)}) == 1:
        return kinds.pop(), ()
    return annotation, ()


def _same(value: Any) -> Any:
    return value


def _as_json(value: Any) -> str | None:
    return None if value is None else to_json(value, bytes_mode="base64").decode()


def _from_json(adapter: TypeAdapter[Any], text: str | None) -> Any:
    return None if text is None else adapter.validate_json(text)

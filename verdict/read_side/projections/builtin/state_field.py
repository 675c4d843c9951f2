"""Fields of an aggregate's state as columns of a table, and back."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter
from pydantic.fields import FieldInfo
from sqlalchemy import Text
from sqlalchemy.types import TypeEngine

from verdict.adapters.sql.column_types import InstantType
from verdict.adapters.sql.readers.sqlite_reader import PERSONAL
from verdict.model.field_types import unwrapped
from verdict.model.message import Base64, Message, TimestampMillis
from verdict.model.personal import personal_paths
from verdict.read_side.projections.stored_rows import SCALARS
from verdict.read_side.tables.identifiers import SYSTEM_COLUMNS

ENGINES = {"aggregate_id", "version", "present", "group_key", "life_cycle", "decided_at"}
SHOWN = {"id", "global_position"}
BYTES = ConfigDict(val_json_bytes="base64")

Convert = Callable[[Any], Any]


@dataclass(frozen=True)
class StateField:
    """A field of a state, and its column."""

    name: str
    shown: str
    column: str
    about: str
    type: TypeEngine[Any]
    kept: Convert
    state: Convert

    @property
    def is_as_it_is(self) -> bool:
        """Whether the column holds what the field does; else it is the text of a JSON value."""
        return self.kept is _same

    @property
    def is_personal(self) -> bool:
        """Whether it holds something personal, anywhere in it."""
        return self.column.startswith(PERSONAL)


def state_fields(state: type[Message]) -> tuple[StateField, ...]:
    """Return the fields of a state, in their order."""
    hints = get_type_hints(state, include_extras=True)
    personal = {path[0] for path in personal_paths(state)}
    return tuple(
        _field(name, _shown(name, state), hints[name], info, name in personal)
        for name, info in state.model_fields.items()
    )


def _shown(name: str, state: type[Message]) -> str:
    shown, others = name, {one.lower() for one in state.model_fields if one != name}
    while shown.lower() in ENGINES | SHOWN | SYSTEM_COLUMNS | others or shown.lower().startswith(
        PERSONAL
    ):
        shown = f"state_{shown}"
    return shown


def _field(
    name: str, shown: str, annotation: Any, info: FieldInfo, is_personal: bool
) -> StateField:
    column = PERSONAL + shown if is_personal else shown
    about = info.description or f"`{name}` of the state that the rules keep."
    return StateField(name, shown, column, about, *_held(annotation))


def _held(annotation: Any) -> tuple[TypeEngine[Any], Convert, Convert]:
    """Return how a column holds values of a type: plain ones as they are, others as JSON."""
    plain, marks = unwrapped(annotation)
    if any(isinstance(mark, TimestampMillis) for mark in marks):
        return InstantType(), _same, _same
    if get_origin(plain) is Literal:
        plain = str
    if plain in SCALARS:
        return SCALARS[plain](), _same, _same
    config = None if isinstance(annotation, type) else BYTES  # a message has its own
    adapter = TypeAdapter[Any](Annotated[annotation, Base64()], config=config)
    return Text(), partial(_to_json, adapter), partial(_from_json, adapter)


def _same(value: Any) -> Any:
    return value


def _to_json(adapter: TypeAdapter[Any], value: Any) -> str | None:
    return None if value is None else adapter.dump_json(value, warnings=False).decode()


def _from_json(adapter: TypeAdapter[Any], text: str | None) -> Any:
    return None if text is None else adapter.validate_json(text)

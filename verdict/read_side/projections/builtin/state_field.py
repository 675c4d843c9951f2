"""Fields of an aggregate's state as columns of a table, and back."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter
from sqlalchemy import Text
from sqlalchemy.types import TypeEngine

from verdict.adapters.sql.column_types import InstantType
from verdict.adapters.sql.readers.sqlite_reader import PERSONAL
from verdict.model.field_types import unwrapped
from verdict.model.message import Base64, Message, TimestampMillis
from verdict.model.personal import personal_paths
from verdict.read_side.projections.stored_rows import SCALARS
from verdict.read_side.tables.columns import SYSTEM_COLUMNS

TAKEN = {
    "aggregate_id", "version", "present", "group_key", "life_cycle", "decided_at",  # in the table
    "id", "global_position",  # in the view
} | SYSTEM_COLUMNS  # fmt: skip
BYTES = ConfigDict(val_json_bytes="base64")

Convert = Callable[[Any], Any]


class StateField(NamedTuple):
    """A field of a state, and its column.

    `form` says how the column holds values: a table with another form has to be built again.
    `kept` makes the value of the column, `state` the value of the field; both are None where the
    column holds what the field does.
    """

    name: str
    shown: str
    column: str
    about: str
    type: TypeEngine[Any]
    form: str
    kept: Convert | None = None
    state: Convert | None = None

    @property
    def is_personal(self) -> bool:
        """Whether it holds something personal, anywhere in it."""
        return self.column.startswith(PERSONAL)


def state_fields(state: type[Message]) -> tuple[StateField, ...]:
    """Return the fields of a state, in their order."""
    hints = get_type_hints(state, include_extras=True)
    personal = {path[0] for path in personal_paths(state)}
    found = []
    for name, info in state.model_fields.items():
        shown = _shown(name, state)
        column = PERSONAL + shown if name in personal else shown
        about = info.description or f"`{name}` of the state that the rules keep."
        found.append(StateField(name, shown, column, about, *_held(hints[name])))
    return tuple(found)


def _shown(name: str, state: type[Message]) -> str:
    shown, others = name, {one.lower() for one in state.model_fields if one != name}
    while (low := shown.lower()) in TAKEN | others or low.startswith(PERSONAL):
        shown = f"state_{shown}"
    return shown


def _held(annotation: Any) -> tuple[Any, ...]:
    """Return how a column holds values of a type: plain ones as they are, others as JSON."""
    plain, marks = unwrapped(annotation)
    if any(isinstance(mark, TimestampMillis) for mark in marks):
        return InstantType(), repr(InstantType())
    if get_origin(plain) is Literal:
        plain = str
    if plain in SCALARS:
        return SCALARS[plain](), repr(SCALARS[plain]())
    config = None if isinstance(annotation, type) else BYTES  # a message has its own
    adapter = TypeAdapter[Any](Annotated[annotation, Base64()], config=config)
    return Text(), "readable JSON", partial(_to_json, adapter), partial(_from_json, adapter)


def _to_json(adapter: TypeAdapter[Any], value: Any) -> str | None:
    return None if value is None else adapter.dump_json(value, warnings=False).decode()


def _from_json(adapter: TypeAdapter[Any], text: str | None) -> Any:
    return None if text is None else adapter.validate_json(text)

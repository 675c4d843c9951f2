"""`<aggregate>_state`: what the rules know of each aggregate now, one row each.

The fields of the aggregate's state are the columns, and its `evolve` folds the rows.
"""

from collections import namedtuple
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, Literal, NamedTuple, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter
from sqlalchemy import (
    Column,
    ColumnElement,
    MetaData,
    Table,
    Text,
    and_,
    cast,
    literal_column,
    select,
)
from sqlalchemy.types import TypeEngine

from verdict.adapters.sql.column_types import InstantType, JsonType
from verdict.adapters.sql.readers.sqlite_reader import PERSONAL
from verdict.model.aggregate import Aggregate
from verdict.model.command import LifeCycle
from verdict.model.field_types import unwrapped
from verdict.model.message import Base64, Message, TimestampMillis, made_of
from verdict.model.personal import personal_paths
from verdict.model.projection import TableProjection
from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.projections.builtin.event_archive import archive_table
from verdict.read_side.projections.documented_view import View, described, unless_allowed
from verdict.read_side.projections.row_projection import RowProjection, version_view
from verdict.read_side.projections.row_source import EventSource
from verdict.read_side.projections.stored_rows import SCALARS, row_table
from verdict.read_side.tables.columns import SYSTEM_COLUMNS
from verdict.read_side.tables.versions import COLUMNS

TAKEN = {
    "aggregate_id", "version", "present", "group_key", "life_cycle", "decided_at",  # in the table
    "id", "global_position",  # in the view
} | SYSTEM_COLUMNS  # fmt: skip
BYTES = ConfigDict(val_json_bytes="base64")

Convert = Callable[[Any], Any]

ABOUT = {
    "version": "How many events it has.",
    "life_cycle": "ACTIVE, or DELETED: then the columns of its state are empty.",
    "global_position": "Where its last event is in event_archive; empty until it is there.",
    "decided_at": "When its last event was decided.",
}

ACTIVE, DELETED = LifeCycle.ACTIVE.value, LifeCycle.DELETED.value

StateRow = tuple[Any, ...]  # life cycle, time of the last event, then the fields of the state


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
        shown = _free_name(name, state)
        column = PERSONAL + shown if name in personal else shown
        about = info.description or f"`{name}` of the state that the rules keep."
        found.append(StateField(name, shown, column, about, *_held(hints[name])))
    return tuple(found)


def _free_name(name: str, state: type[Message]) -> str:
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


@dataclass(frozen=True)
class StateEvolve:
    """Folds the rows with the rules' own `evolve`; other processes get a copy."""

    aggregate: Aggregate[Any]
    fields: tuple[StateField, ...]

    def __call__(self, row: StateRow | None, recorded: RecordedEvent) -> StateRow:
        """Return the row after an event; a deleted aggregate keeps one without a state."""
        after = self.aggregate.evolve(self.state(row), recorded.payload)
        if after is None:
            return (DELETED, recorded.decided_at, *([None] * len(self.fields)))
        values: Iterable[Any] = map(after.__dict__.__getitem__, self.names)
        if self.converted:
            pairs = zip(self.fields, values, strict=True)
            values = (field.kept(value) if field.kept else value for field, value in pairs)
        return (ACTIVE, recorded.decided_at, *values)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    @cached_property
    def converted(self) -> bool:
        """Whether a column holds anything else than its field does."""
        return any(field.kept for field in self.fields)

    def state(self, row: StateRow | None) -> Message | None:
        if row is None or row[0] != ACTIVE:
            return None
        values: Iterable[Any] = row[2:]
        if self.converted:
            pairs = zip(self.fields, values, strict=True)
            values = (field.state(value) if field.state else value for field, value in pairs)
        known = dict(zip(self.names, values, strict=True))
        state: Message = made_of(self.aggregate.state, known)
        return state


def aggregate_state(aggregate: Aggregate[Any], version: int = 1) -> RowProjection[StateRow]:
    kind, fields = aggregate.name, state_fields(aggregate.state)
    metadata = MetaData()
    states = row_table(
        f"{kind}_state_v{version}",
        metadata,
        Column("life_cycle", Text),
        Column("decided_at", InstantType),
        *(Column(field.column, field.type) for field in fields),
    )
    name = f"{kind}_state"
    columns = ["life_cycle", "decided_at", *(field.column for field in fields)]
    row: Any = namedtuple("StateRow", columns)  # type: ignore[misc]  # known only now
    shown = _view(kind, states, archive_table(metadata), fields)
    return RowProjection(
        name=name,
        version=version,
        source=EventSource((kind,)),
        row=row,
        table=states,
        evolve=StateEvolve(aggregate, fields),
        views={name: shown, **version_view(name, kind, states)},
        settings=COLUMNS + ", ".join(f"{field.column} {field.type!r}" for field in fields),
    )


def _view(kind: str, states: Table, archive: Table, fields: tuple[StateField, ...]) -> View:
    """Return what readers see: positions are the archive's, as no row of ours depends on them."""
    of = states.c
    place = and_(
        archive.c.aggregate_type == literal_column(f"'{kind}'"),
        archive.c.aggregate_id == of.aggregate_id,
        archive.c.version == of.version,
    )
    selected = select(
        of.aggregate_id.label("id"),
        of.version,
        of.life_cycle,
        *(_shown(of[field.column], field) for field in fields),
        archive.c.global_position,
        of.decided_at,
    )
    return described(
        selected.select_from(states.outerjoin(archive, place)).where(of.present),
        f"What the rules know of each {kind} now, the deleted ones included.",
        **{"id": f"Id of the {kind}."},
        **{f.shown: f.about for f in fields},
        **ABOUT,
    )


def _shown(column: ColumnElement[Any], field: StateField) -> ColumnElement[Any]:
    value = cast(column, JsonType) if field.kept else column
    return (unless_allowed(value, column) if field.is_personal else value).label(field.shown)


def state_views(aggregates: Iterable[Aggregate[Any]]) -> dict[str, TableProjection]:
    """Return the projections of aggregates' states, by name; one that says so has none."""
    return {
        name: TableProjection(name=name, key=("id",), factory=partial(aggregate_state, one))
        for one in aggregates
        if one.state_view
        for name in [f"{one.name}_state"]
    }

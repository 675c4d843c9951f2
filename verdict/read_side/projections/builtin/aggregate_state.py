"""`<aggregate>_state`: what the rules know of each aggregate now, one row each.

The fields of the aggregate's state are the columns, and its `evolve` folds the rows.
"""

from collections import namedtuple
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

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

from verdict.adapters.sql.column_types import InstantType, JsonType
from verdict.model.aggregate import Aggregate
from verdict.model.command import LifeCycle
from verdict.model.message import Message, made_of
from verdict.model.projection import TableProjection
from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.projections.builtin.event_archive import archive_table
from verdict.read_side.projections.builtin.state_field import StateField, state_fields
from verdict.read_side.projections.documented_view import View, described, unless_allowed
from verdict.read_side.projections.row_projection import RowProjection, version_view
from verdict.read_side.projections.row_source import EventSource
from verdict.read_side.projections.stored_rows import row_table
from verdict.read_side.tables.versions import COLUMNS

ABOUT = {
    "version": "How many events it has.",
    "life_cycle": "ACTIVE, or DELETED: then the columns of its state are empty.",
    "global_position": "Where its last event is in event_archive; empty until it is there.",
    "decided_at": "When its last event was decided.",
}

ACTIVE, DELETED = LifeCycle.ACTIVE.value, LifeCycle.DELETED.value

StateRow = tuple[Any, ...]  # life cycle, time of the last event, then the fields of the state


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

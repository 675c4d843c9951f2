"""What follows from a declared projection: its tables, indexes, views, feed and functions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Index, MetaData, Table, select

from verdict.model.groups import Groups
from verdict.model.integration import StateTopic
from verdict.model.projection import Declaration, settings_text
from verdict.model.recorded_event import RecordedEvent
from verdict.model.rows import Evolve, Latest, Rows, row_fields
from verdict.read_side.projections.change_feed import ChangeFeed, feed_table
from verdict.read_side.projections.documented_view import View, described
from verdict.read_side.projections.group_table import GroupTable, group_table, index_extremes
from verdict.read_side.projections.latest_table import LatestTable, index_newest, latest_table
from verdict.read_side.projections.row_fold import Group
from verdict.read_side.projections.row_projection import RowProjection, no_group, version_view
from verdict.read_side.projections.row_source import EventSource, StateSource
from verdict.read_side.projections.stored_rows import columns_of, is_of_types, row_table

FEED_FORM = 1  # in the name of its table, as all versions of a projection have the same feed


class _Parts(NamedTuple):
    view: View
    group: Group[Any] = no_group
    shows: GroupTable[Any] | LatestTable[Any] | None = None
    feed: ChangeFeed | None = None


@dataclass(frozen=True)
class ByType:
    """Makes the row by the function for the type of the aggregate; other processes get a copy."""

    evolves: Mapping[str, Evolve[Any]]

    def __call__(self, row: Any, recorded: RecordedEvent) -> Any:
        return self.evolves[recorded.aggregate_type](row, recorded)


def compile_projection(
    declared: Declaration[..., Any], version: int = 1, **settings: object
) -> RowProjection[Any]:
    """Return a declared projection with its tables."""
    kind = declared(**settings)
    remains = kind.leaves_behind if isinstance(kind, Groups) else None
    rows = row_table(
        f"{declared.name}_row_v{version}",
        MetaData(),
        *columns_of(kind.row),
        of_types=remains is not None or declared.type_name is None,
    )
    parts = PARTS[type(kind)](declared, version, kind, rows)
    views = {declared.name: parts.view}
    if parts.feed is not None:
        views[f"{declared.name}_change"] = parts.feed.view(kind.feed)
    source: EventSource | StateSource
    if isinstance(declared.of, StateTopic):
        source = StateSource(declared.of.topic)
    else:
        source = EventSource(declared.of)
        only = None if is_of_types(rows) else declared.type_name
        views |= version_view(declared.name, only, rows)
    return RowProjection(
        name=declared.name,
        version=version,
        source=source,
        row=kind.row,
        table=rows,
        evolve=ByType(kind.evolve) if isinstance(kind.evolve, Mapping) else kind.evolve,
        group=parts.group,
        remains=remains,
        shows=parts.shows,
        feed=parts.feed,
        views=views,
        settings=settings_text(declared.factory, settings),
    )


def _of_groups(
    declared: Declaration[..., Any], version: int, groups: Groups[Any], rows: Table
) -> _Parts:
    index_extremes(rows, groups)
    table = group_table(f"{declared.name}_v{version}", rows.metadata, groups)
    shows = GroupTable(groups, table, rows)
    feed = None
    if groups.feed is not None:
        name, columns = f"{declared.name}_change_v{FEED_FORM}", (groups.key, declared.id_column)
        feed = ChangeFeed(feed_table(name, rows.metadata, *columns), table, *columns)
    return _Parts(shows.view(declared.about), groups.by, shows, feed)


def _of_latest(
    declared: Declaration[..., Any], version: int, latest: Latest[Any], rows: Table
) -> _Parts:
    index_newest(rows, latest)
    _index(rows, latest.index)
    table = latest_table(f"{declared.name}_v{version}", rows.metadata, latest)
    shows = LatestTable(latest, table, rows)
    view = shows.view(declared.about, declared.type_name or "", declared.id_column)
    group: Callable[[Any], str | None] = itemgetter(latest.row._fields.index(latest.by))
    return _Parts(view, group, shows)


def _of_rows(declared: Declaration[..., Any], version: int, kind: Rows[Any], rows: Table) -> _Parts:
    _index(rows, kind.index)
    shown: list[Any] = [rows.c.aggregate_id.label(declared.id_column)]
    comments = {declared.id_column: f"Id of the {declared.type_name or 'aggregate'}."}
    if declared.type_name is None:
        shown.insert(0, rows.c.aggregate_type)
        comments["aggregate_type"] = "Type of the aggregate."
    for field in row_fields(kind.row).values():
        shown.append(rows.c[field.name])
        comments[field.name] = field.about
    return _Parts(described(select(*shown).where(rows.c.present), declared.about, **comments))


PARTS: Mapping[type, Callable[[Declaration[..., Any], int, Any, Table], _Parts]] = {
    Groups: _of_groups,
    Latest: _of_latest,
    Rows: _of_rows,
}


def _index(rows: Table, fields: tuple[str, ...]) -> None:
    for field in fields:
        Index(f"{rows.name}_{field}", rows.c[field])

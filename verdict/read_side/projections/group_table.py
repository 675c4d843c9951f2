"""The table of `Groups`: one row per group that has members, kept by what a batch changes.

What can be added up is: a batch adds the difference between the rows before and after. A minimum or
maximum is read again from the members, for the groups that changed; it has an index for that.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any, Generic

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Index,
    MetaData,
    Table,
    Text,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    select,
)

from verdict.adapters.sql.bulk import BulkRows
from verdict.adapters.sql.statements import Computed, is_any_of, put
from verdict.model.groups import AnyOf, Count, Counted, Groups, Total
from verdict.model.rows import row_fields
from verdict.read_side.projections.change_feed import Turns
from verdict.read_side.projections.documented_view import View, described
from verdict.read_side.projections.row_fold import Row, RowChange
from verdict.read_side.projections.stored_rows import SQL_TYPES, fields_of

Counts = tuple[int, ...]
Counter = Callable[[Sequence[Any]], int]


@dataclass(frozen=True)
class GroupTable(Generic[Row]):
    """The groups of a projection, and how a batch changes them."""

    groups: Groups[Row]
    table: Table
    members: Table

    def update(self, connection: Connection, changes: Collection[RowChange[Row]]) -> Turns:
        """Change the groups by what their members were, are and left behind.

        A group whose members only change is never removed in between.
        """
        by = self._differences(changes)
        if not by:
            return {}
        before = dict.fromkeys(by, (0,) * len(self.groups.counted)) | self._found(connection, by)
        after = {
            group: tuple([old + more for old, more in zip(before[group], by[group], strict=True)])
            for group in by
        }
        at = self._members_at
        self._drop(connection, [group for group, counts in after.items() if not counts[at]])
        self._put(connection, {group: counts for group, counts in after.items() if counts[at]})
        return {
            group: "entered" if counts[at] else "left"
            for group, counts in after.items()
            if bool(counts[at]) != bool(before[group][at])
        }

    def fill(self, connection: Connection) -> None:
        counted, extremes = self.groups.counted, self._extremes
        of_group = self.members.c.group_key
        counts = [_counted_in_sql(one, self.members) for one in counted.values()]
        made = select(of_group, *counts, *extremes.values())
        columns = [self.groups.key, *counted, *extremes]
        made = made.where(of_group.is_not(None)).group_by(of_group)
        connection.execute(insert(self.table).from_select(columns, made))

    def view(self, about: str) -> View:
        shown = [
            (self.table.c[name] > 0).label(name) if isinstance(one, AnyOf) else self.table.c[name]
            for name, one in self.groups.columns.items()
        ]
        comments = {name: one.about for name, one in self.groups.columns.items()}
        return described(select(*shown), about, **comments)

    def _differences(self, changes: Iterable[RowChange[Row]]) -> Mapping[str, Counts]:
        """Return what a batch adds to the counts of each group that it changes."""
        came, went = defaultdict[str, list[Row]](list), defaultdict[str, list[Row]](list)
        matters = _what_matters(self.groups)
        for change in changes:
            before, after = change.before, change.after
            old, new = before.row, after.row
            stays = old is not None and new is not None and before.group == after.group
            if not change.remains and (old is new or (stays and matters(old) == matters(new))):
                continue
            if old is not None and before.group is not None:
                went[before.group].append(old)
            for _, row, group in (after, *change.remains):
                if row is not None and group is not None:
                    came[group].append(row)
        fields = fields_of(self.groups.row)
        counters = [_counter(one, fields) for one in self.groups.counted.values()]
        return {
            group: tuple([count(came[group]) - count(went[group]) for count in counters])
            for group in sorted({*came, *went})
        }

    @property
    def _members_at(self) -> int:
        counted = self.groups.counted.values()
        return next(
            at for at, one in enumerate(counted) if isinstance(one, Count) and not one.where
        )

    @property
    def _key(self) -> Column[str]:
        return self.table.c[self.groups.key]

    @cached_property
    def _computed(self) -> Computed:
        """The extremes of a group, whose name is the parameter `group`."""
        this_group = self.members.c.group_key == bindparam("group")
        return tuple(
            (name, select(value).where(this_group).scalar_subquery())
            for name, value in self._extremes.items()
        )

    @property
    def _extremes(self) -> Mapping[str, ColumnElement[Any]]:
        return {
            name: (func.max if one.greatest else func.min)(self.members.c[one.field])
            for name, one in self.groups.extremes.items()
        }

    def _found(self, connection: Connection, groups: Iterable[str]) -> dict[str, Counts]:
        columns = (self.table.c[name] for name in self.groups.counted)
        statement = select(self._key, *columns).where(is_any_of(connection, self._key, groups))
        return {group: tuple(counts) for group, *counts in connection.execute(statement)}

    def _drop(self, connection: Connection, groups: Collection[str]) -> None:
        if groups:
            gone = is_any_of(connection, self._key, groups)
            connection.execute(delete(self.table).where(gone))

    def _put(self, connection: Connection, counts: Mapping[str, Counts]) -> None:
        names = [self._key.name, *self.groups.counted, *(["group"] if self._computed else ())]
        rows = [
            (group, *numbers, group) if self._computed else (group, *numbers)
            for group, numbers in counts.items()
        ]
        put(connection, self.table, BulkRows(names, rows), self._computed)


def group_table(name: str, metadata: MetaData, groups: Groups[Any]) -> Table:
    """Return the table of groups: the declared columns, then the hidden ones."""
    fields = row_fields(groups.row)
    made: dict[str, Column[Any]] = {groups.key: Column(groups.key, Text, primary_key=True)}
    for column, extreme in groups.extremes.items():
        field = fields[extreme.field]
        made[column] = Column(column, SQL_TYPES[field.type], nullable=field.optional)
    for column in groups.counted:
        made[column] = Column(column, BigInteger, nullable=False)
    hidden = [column for column in made if column not in groups.columns]
    return Table(name, metadata, *(made[column] for column in (*groups.columns, *hidden)))


def index_extremes(members: Table, groups: Groups[Any]) -> None:
    """Declare the indexes from which minima and maxima are read."""
    for field in sorted({one.field for one in groups.extremes.values()}):
        Index(f"{members.name}_{field}", members.c.group_key, members.c[field])


def _what_matters(groups: Groups[Any]) -> Callable[[Any], Any]:
    fields = {one.field for one in groups.extremes.values()}
    for one in groups.counted.values():
        fields.update(one.where if isinstance(one, Count) else (one.field,))
    at = [groups.row._fields.index(name) for name in sorted(fields)]
    return itemgetter(*at) if at else bool


def _counter(one: Counted, fields: tuple[str, ...]) -> Counter:
    match one:
        case Total(field=field):
            value = itemgetter(fields.index(field))
            return lambda rows: sum(map(value, rows))
        case AnyOf(field=field):
            value = itemgetter(fields.index(field))
            return lambda rows: sum(value(row) > 0 for row in rows)
        case Count(where=where):
            if not where:
                return len
            values = itemgetter(*map(fields.index, where))
            wanted: Any = tuple(where.values()) if len(where) > 1 else next(iter(where.values()))
            return lambda rows: sum(values(row) == wanted for row in rows)


def _counted_in_sql(one: Counted, members: Table) -> ColumnElement[int]:
    if isinstance(one, Total):
        return func.sum(members.c[one.field])
    if isinstance(one, AnyOf):
        column = members.c[one.field]
        is_one = column if isinstance(column.type, Boolean) else column > 0
        return func.sum(case((is_one, 1), else_=0))
    if not one.where:
        return func.count()
    conditions = [members.c[name].is_not_distinct_from(value) for name, value in one.where.items()]
    return func.sum(case((and_(*conditions), 1), else_=0))

"""Counts per group, kept by the differences that a batch makes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Generic

from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    bindparam,
    case,
    delete,
    func,
    insert,
    select,
)

from verdict.database.statements import is_any_of, put
from verdict.projection.feedless import Feedless
from verdict.projection.fold import Change, Kept, Row

Counts = tuple[int, ...]

Rule = str | tuple[str, Any] | None
"""How much a row adds to a count.

What a field of it holds, which is never None; or 1 where a field has a value, and else 0; or 1
each, for None.
"""


@dataclass(frozen=True, kw_only=True)
class CountedGroups:
    """A table with one row per group that has members; a group without any has none.

    Args:
        table: Its primary key is the group.
        members: The table of the rows, from `row_table`, with an index that begins with
            `group_key` and goes on with what `reads` asks for.
        counts: The columns of numbers; every member counts in one of them at least.
        reads: Column → an aggregate over columns of `members`, such as a minimum: what no
            difference can keep is read again, for the groups that changed.
    """

    table: Table
    members: Table
    counts: Sequence[str]
    reads: Mapping[str, ColumnElement[Any]]

    def move(
        self, connection: Connection, by: Mapping[str, Counts]
    ) -> tuple[dict[str, Counts], dict[str, Counts]]:
        """Change the counts of groups, and read again what is not counted.

        Args:
            connection: In the transaction that has written the members already.
            by: Group → what to add to each count, in their order; nothing is no change, but what
                is read again may be other than before.

        Returns:
            The counts before and after, of the groups in `by`.
        """
        if not by:
            return {}, {}
        before = dict.fromkeys(by, (0,) * len(self.counts)) | self._found(connection, by)
        after = {
            group: tuple(old + more for old, more in zip(before[group], change, strict=True))
            for group, change in by.items()
        }
        self._drop(connection, [group for group, counts in after.items() if not any(counts)])
        self._keep(connection, {group: counts for group, counts in after.items() if any(counts)})
        return before, after

    def fill(self, connection: Connection, counts: Sequence[ColumnElement[int]]) -> None:
        """Count all groups, in the empty table.

        Args:
            connection: In a transaction that sees all members.
            counts: An aggregate over columns of `members` for each count, in their order.
        """
        grouped = self.members.c.group_key
        counted = select(grouped, *counts, *self.reads.values())
        columns = [self.key.name, *self.counts, *self.reads]
        made = counted.where(grouped.is_not(None)).group_by(grouped)
        connection.execute(insert(self.table).from_select(columns, made))

    @property
    def key(self) -> Any:
        """The column of the group."""
        (key,) = self.table.primary_key
        return key

    def _found(self, connection: Connection, groups: Mapping[str, Counts]) -> dict[str, Counts]:
        columns = (self.table.c[name] for name in self.counts)
        statement = select(self.key, *columns).where(is_any_of(connection, self.key, groups))
        return {group: tuple(counts) for group, *counts in connection.execute(statement)}

    def _drop(self, connection: Connection, groups: list[str]) -> None:
        if groups:
            connection.execute(delete(self.table).where(is_any_of(connection, self.key, groups)))

    def _keep(self, connection: Connection, counts: Mapping[str, Counts]) -> None:
        this_group = self.members.c.group_key == bindparam("group")
        again = {
            name: select(value).where(this_group).scalar_subquery()
            for name, value in self.reads.items()
        }
        rows = [
            {self.key.name: group, "group": group, **dict(zip(self.counts, numbers, strict=True))}
            for group, numbers in counts.items()
        ]
        put(connection, self.table, rows, again)


@dataclass(frozen=True, kw_only=True)
class Tally(Feedless, Generic[Row]):
    """Numbers of members by what they are, such as how many are active.

    Args:
        groups: The table; its counts are the names in `counts`.
        counts: Column → how much a row adds there.
    """

    groups: CountedGroups
    counts: Mapping[str, Rule]

    def fill(self, connection: Connection) -> None:
        """Count the members of every group."""
        members = self.groups.members
        self.groups.fill(connection, [_counted_all(rule, members) for rule in self.counts.values()])

    @property
    def tables(self) -> Sequence[Table]:
        """The table of the groups."""
        return [self.groups.table]

    def update(self, connection: Connection, changes: Iterable[Change[Row]]) -> None:
        """Take what rows were out of the counts, and what they are and left into them."""
        by: dict[str, Counts] = {}
        counted = _counter(self.counts.values())
        for change in changes:
            before, after = change.before, change.after
            if before.row != after.row or change.remains:
                _add(by, before, counted, -1)
                for kept in (after, *change.remains):
                    _add(by, kept, counted, 1)
        self.groups.move(connection, by)


Counter = Callable[[Any], Sequence[int]]


def _add(by: dict[str, Counts], kept: Kept[Any], counted: Counter, sign: int) -> None:
    _, row, group = kept
    if row is None or group is None:
        return
    so_far, more = by.get(group), counted(row)
    if so_far is None:
        by[group] = tuple([sign * n for n in more])
    else:
        by[group] = tuple([was + sign * n for was, n in zip(so_far, more, strict=True)])


def _counter(rules: Iterable[Rule]) -> Counter:
    """Return what tells of a row how much it adds to each count."""
    each = [_counted(rule) for rule in rules]
    return lambda row: [count(row) for count in each]


def _counted(rule: Rule) -> Callable[[Any], int]:
    if rule is None:
        return lambda row: 1
    if isinstance(rule, str):
        return attrgetter(rule)
    field, value = rule
    return lambda row: int(getattr(row, field) == value)


def _counted_all(rule: Rule, members: Table) -> ColumnElement[int]:
    """Return the sum of `_counted` over the rows of a group."""
    if rule is None:
        return func.count()
    if isinstance(rule, str):
        return func.sum(members.c[rule])
    field, value = rule
    return func.sum(case((members.c[field] == value, 1), else_=0))

"""Counts per group, kept by the differences that a batch makes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
        counts: Column → the row's field and the value of it with which a row counts there; None
            where each row does.
    """

    groups: CountedGroups
    counts: Mapping[str, tuple[str, Any] | None]

    def fill(self, connection: Connection) -> None:
        """Count the members of every group."""
        members = self.groups.members.c
        counted = [
            func.sum(case((members[rule[0]] == rule[1], 1), else_=0)) if rule else func.count()
            for rule in self.counts.values()
        ]
        self.groups.fill(connection, counted)

    @property
    def tables(self) -> Sequence[Table]:
        """The table of the groups."""
        return [self.groups.table]

    def update(self, connection: Connection, changes: Mapping[str, Change[Row]]) -> None:
        """Take what rows were out of the counts, and what they are into them."""
        by: dict[str, Counts] = {}
        for change in changes.values():
            if change.before.row != change.after.row:
                for kept, sign in ((change.before, -1), (change.after, 1)):
                    self._add(by, kept, sign)
        self.groups.move(connection, by)

    def _add(self, by: dict[str, Counts], kept: Kept[Row], sign: int) -> None:
        if kept.row is None or kept.group is None:
            return
        row, so_far = kept.row, by.get(kept.group, (0,) * len(self.counts))
        by[kept.group] = tuple(
            number + sign * (rule is None or getattr(row, rule[0]) == rule[1])
            for number, rule in zip(so_far, self.counts.values(), strict=True)
        )

"""The newest members of each group, whatever the group's size."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    MetaData,
    Table,
    Text,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    select,
    tuple_,
)

from verdict.database.instant import InstantType
from verdict.database.statements import is_any_of, put
from verdict.projection.described import Query
from verdict.projection.feedless import Feedless
from verdict.projection.fold import Change, Row


@dataclass(frozen=True, kw_only=True)
class Newest(Feedless, Generic[Row]):
    """Since when the newest members of each group are; which they are then is a view.

    Keeping the place of each member would write all places anew for every one that comes. A view
    alone would read all that a group ever had. So there is one row per group with the time of the
    oldest member that is shown: a reader needs that row and one short range of an index.

    Args:
        table: From `newest_table`.
        members: The table of the rows, from `row_table`, with an index on (`group_key`, the
            column `by`, `aggregate_id`).
        by: The column that tells how new a member is, and the row's field of that name; where it
            is equal, the greater aggregate id is the newer.
        shown: How many are shown of a group.
    """

    table: Table
    members: Table
    by: str
    shown: int

    def fill(self, connection: Connection) -> None:
        """Look at every group that has members."""
        members = self.members.c
        newest_first = (members[self.by].desc(), members.aggregate_id.desc())
        place = func.row_number().over(partition_by=members.group_key, order_by=newest_first)
        ranked = (
            select(members.group_key, members[self.by].label("newest"), place.label("place"))
            .where(members.group_key.is_not(None))
            .subquery()
        )
        since = (
            select(ranked.c.group_key, func.min(ranked.c.newest))
            .where(ranked.c.place <= self.shown)
            .group_by(ranked.c.group_key)
        )
        connection.execute(insert(self.table).from_select(["group_key", "since"], since))

    @property
    def tables(self) -> Sequence[Table]:
        """The table of since when."""
        return [self.table]

    def update(self, connection: Connection, changes: Iterable[Change[Row]]) -> None:
        """Look again at the groups to which a member came, and from which one went."""
        moved = {group for change in changes for group in self._moved(change)}
        touched = sorted(group for group in moved if group is not None)
        if not touched:
            return
        newest = (
            select(self.members.c[self.by].label("newest"))
            .where(self.members.c.group_key == bindparam("of_group"))
            .order_by(self.members.c[self.by].desc(), self.members.c.aggregate_id.desc())
            # spelled out, as the rows bring all the parameters there are; SQLite adds an offset
            .limit(literal_column(str(self.shown)))
            .offset(literal_column("0"))
            .subquery()
        )
        since = select(func.min(newest.c.newest)).scalar_subquery()
        rows = [{"group_key": group, "of_group": group} for group in touched]
        put(connection, self.table, rows, {"since": since})
        connection.execute(
            delete(self.table).where(
                is_any_of(connection, self.table.c.group_key, touched),
                self.table.c.since.is_(None),
            )
        )

    def view(self, group: str, place: str, *columns: ColumnElement[Any]) -> Query:
        """Return what shows the newest: the group, the place (1 is the newest), and `columns`.

        A member's place is counted from the members that are as new or newer, and no further than
        matters. Numbering a group's members by a window would be the same; but then no condition
        of a reader could reach the members, and asking for one would number all there are.
        """
        members, shown = self.members.c, self.table.c
        other = self.members.alias("other")
        no_older = (
            select(literal_column("1"))
            .where(
                other.c.group_key == members.group_key,
                tuple_(other.c[self.by], other.c.aggregate_id)
                >= tuple_(members[self.by], members.aggregate_id),
            )
            # any number of them may be of one time, and each would count all the others
            .order_by(other.c[self.by].desc(), other.c.aggregate_id.desc())
            .limit(literal_column(str(self.shown + 1)))
            .correlate(self.members)
            .subquery("no_older")
        )
        counted = select(func.count(type_=BigInteger)).select_from(no_older).scalar_subquery()
        placed = (
            select(shown.group_key.label(group), counted.label(place), *columns)
            .join_from(
                self.table,
                self.members,
                and_(members.group_key == shown.group_key, members[self.by] >= shown.since),
            )
            .subquery("placed")
        )
        return select(placed).where(placed.c[place] <= literal_column(str(self.shown)))

    def _moved(self, change: Change[Row]) -> tuple[str | None, ...]:
        """Return the groups of a change that are not as they were."""
        (_, old, was), (_, new, now) = change.before, change.after
        if was == now and self._age(old) == self._age(new):
            return ()
        return was, now

    def _age(self, row: Row | None) -> Any:
        return None if row is None else getattr(row, self.by)


def newest_table(name: str, metadata: MetaData) -> Table:
    """Return the table of a group's oldest member that is shown, by group."""
    return Table(
        name,
        metadata,
        Column("group_key", Text, primary_key=True),
        Column("since", InstantType),
    )

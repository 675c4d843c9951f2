"""The table of `Latest`: one row per group with the time of its oldest member that is shown.

A reader needs that row and one short range of an index. Stored ranks would all be written again
for each new member; a view alone would read all that a group ever had.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any, Generic

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Index,
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

from verdict.adapters.sql.bulk import BulkRows
from verdict.adapters.sql.statements import Computed, is_any_of, put
from verdict.model.rows import RANK, Latest, row_fields
from verdict.read_side.projections.change_feed import Turns
from verdict.read_side.projections.documented_view import Query, View, described
from verdict.read_side.projections.row_fold import Row, RowChange
from verdict.read_side.projections.stored_rows import SQL_TYPES, fields_of


@dataclass(frozen=True)
class LatestTable(Generic[Row]):
    """The groups of a projection, and how a batch changes them."""

    latest: Latest[Row]
    table: Table
    members: Table

    def fill(self, connection: Connection) -> None:
        """Look at every group that has members."""
        members = self.members.c
        newest_first = (members[self._by].desc(), members.aggregate_id.desc())
        place = func.row_number().over(partition_by=members.group_key, order_by=newest_first)
        ranked = (
            select(members.group_key, members[self._by].label("newest"), place.label("rank"))
            .where(members.group_key.is_not(None))
            .subquery()
        )
        since = (
            select(ranked.c.group_key, func.min(ranked.c.newest))
            .where(ranked.c.rank <= self.latest.number)
            .group_by(ranked.c.group_key)
        )
        connection.execute(insert(self.table).from_select(["group_key", "since"], since))

    def update(self, connection: Connection, changes: Iterable[RowChange[Row]]) -> Turns:
        """Look again at the groups to which a member came, and from which one went."""
        touched = sorted({*self._moved(changes)})
        if not touched:
            return {}
        rows = BulkRows(("group_key", "of_group"), [(group, group) for group in touched])
        put(connection, self.table, rows, self._computed)
        connection.execute(
            delete(self.table).where(
                is_any_of(connection, self.table.c.group_key, touched),
                self.table.c.since.is_(None),
            )
        )
        return {}  # there is no feed of shown members

    def view(self, about: str, type_name: str, id_column: str) -> View:
        """Return what readers see: the group, the rank (1 is the newest), the id, and the rest."""
        fields = row_fields(self.latest.row)
        group = fields.pop(self.latest.by)
        rest = [self.members.c[name] for name in fields]
        selected = self._placed(self.members.c.aggregate_id.label(id_column), *rest)
        comments = {
            group.name: group.about,
            RANK: f"1 is the newest, {self.latest.number} the oldest that is shown.",
            id_column: f"Id of the {type_name or 'row'}.",
            **{field.name: field.about for field in fields.values()},
        }
        return described(selected, about, **comments)

    def _placed(self, *columns: ColumnElement[Any]) -> Query:
        """Return the newest of each group with their ranks.

        A rank counts the members that are as new or newer, as far as it matters. With a window no
        condition of a reader would reach the members: asking for one would number all.
        """
        members, shown = self.members.c, self.table.c
        other = self.members.alias("other")
        no_older = (
            select(literal_column("1"))
            .where(
                other.c.group_key == members.group_key,
                tuple_(other.c[self._by], other.c.aggregate_id)
                >= tuple_(members[self._by], members.aggregate_id),
            )
            # any number of them may be of one time, and each would count all the others
            .order_by(other.c[self._by].desc(), other.c.aggregate_id.desc())
            .limit(literal_column(str(self.latest.number + 1)))
            .correlate(self.members)
            .subquery("no_older")
        )
        counted = select(func.count(type_=BigInteger)).select_from(no_older).scalar_subquery()
        placed = (
            select(shown.group_key.label(self.latest.by), counted.label(RANK), *columns)
            .join_from(
                self.table,
                self.members,
                and_(members.group_key == shown.group_key, members[self._by] >= shown.since),
            )
            .subquery("placed")
        )
        return select(placed).where(placed.c[RANK] <= literal_column(str(self.latest.number)))

    @cached_property
    def _computed(self) -> Computed:
        """Since when the newest members of a group are, whose name is the parameter `of_group`."""
        newest = (
            select(self.members.c[self._by].label("newest"))
            .where(self.members.c.group_key == bindparam("of_group"))
            .order_by(self.members.c[self._by].desc(), self.members.c.aggregate_id.desc())
            # spelled out, as the rows bring all the parameters there are; SQLite adds an offset
            .limit(literal_column(str(self.latest.number)))
            .offset(literal_column("0"))
            .subquery()
        )
        return (("since", select(func.min(newest.c.newest)).scalar_subquery()),)

    @property
    def _by(self) -> str:
        return self.latest.order_by

    def _moved(self, changes: Iterable[RowChange[Row]]) -> Iterator[str]:
        """Yield the groups to which a member came, from which one went, or in which one aged."""
        age = itemgetter(fields_of(self.latest.row).index(self._by))
        for change in changes:
            (_, old, was), (_, new, now) = change.before, change.after
            if was == now and (
                old is new or (old is not None and new is not None and age(old) == age(new))
            ):
                continue
            if was is not None:
                yield was
            if now is not None:
                yield now


def latest_table(name: str, metadata: MetaData, latest: Latest[Any]) -> Table:
    """Return the table of a group's oldest member that is shown, by group."""
    kind = row_fields(latest.row)[latest.order_by].type
    return Table(
        name,
        metadata,
        Column("group_key", Text, primary_key=True),
        Column("since", SQL_TYPES[kind]),
    )


def index_newest(members: Table, latest: Latest[Any]) -> None:
    """Declare the index in which the newest members of a group are neighbours."""
    of = members.c
    Index(f"{members.name}_newest", of.group_key, of[latest.order_by], of.aggregate_id)

"""Groups that are shown while they have members, with a feed of those that begin and end."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Self

from sqlalchemy import ColumnElement, Connection, Table, bindparam, delete, select

from projections.engine.change_feed import Cause, ChangeFeed, Entry, cause_of
from projections.engine.fold import Change, Row
from projections.engine.row_projection import GroupView
from projections.engine.statements import is_any_of, put
from schemas.recorded_event import RecordedEvent


@dataclass(frozen=True, kw_only=True)
class Membership(Generic[Row]):
    """A table with one row per group that has members; a group without any has none.

    Args:
        table: Its primary key is the group.
        members: The table of the rows, from `row_table`, with an index that begins with
            `group_key` and goes on with what `reads` asks for.
        count: The column for the number of members; kept up to date by differences.
        reads: Column → an aggregate over columns of `members`, such as a minimum: what no
            difference can keep is read again, for the groups that changed.
        feed: Where groups that begin and end are announced, None for nowhere.
    """

    table: Table
    members: Table
    count: str
    reads: Mapping[str, ColumnElement[Any]]
    feed: ChangeFeed | None

    def update(self, connection: Connection, changes: Mapping[str, Change[Row]]) -> None:
        """Count who came and who went, and announce the groups that thereby began or ended.

        A group whose members only changed is announced nowhere and never disappears; one that
        lost its last member and won another in the same batch is not announced either.
        """
        moves = _Moves(changes)
        before = self._counts(connection, moves.touched)
        after = {group: before[group] + moves.net[group] for group in moves.touched}
        self._drop(connection, [group for group, count in after.items() if count == 0])
        self._keep(connection, {group: count for group, count in after.items() if count})
        if self.feed is not None:
            self.feed.append(connection, [*moves.entries(before, after)])

    @property
    def tables(self) -> Sequence[Table]:
        """The table of the groups."""
        return [self.table]

    def unannounced(self) -> Self:
        """Return the same membership without a feed."""
        return replace(self, feed=None)

    def announce(self, connection: Connection, before: GroupView[Row], now: int) -> None:
        """Tell the feed which groups only one of the two versions has; no event is their cause."""
        assert isinstance(before, Membership)
        assert self.feed is not None, "what readers see announces its changes"
        changes = [(group, "entered") for group in self._only_here(connection, before)]
        changes += [(group, "left") for group in before._only_here(connection, self)]
        cause = Cause(aggregate_id="", event_id=f"swap:{self.table.name}", decided_at=now)
        self.feed.append(connection, [Entry(group, kind, cause) for group, kind in changes])

    def _only_here(self, connection: Connection, other: "Membership[Any]") -> list[str]:
        only = select(self._key).except_(select(other._key))
        return [*connection.execute(only).scalars()]

    @property
    def _key(self) -> Any:
        (key,) = self.table.primary_key
        return key

    def _counts(self, connection: Connection, groups: set[str]) -> Counter[str]:
        statement = select(self._key, self.table.c[self.count]).where(
            is_any_of(connection, self._key, groups)
        )
        return Counter({row[0]: row[1] for row in connection.execute(statement)})

    def _drop(self, connection: Connection, groups: list[str]) -> None:
        if groups:
            connection.execute(delete(self.table).where(is_any_of(connection, self._key, groups)))

    def _keep(self, connection: Connection, counts: Mapping[str, int]) -> None:
        this_group = self.members.c.group_key == bindparam("group")
        again = {
            name: select(value).where(this_group).scalar_subquery()
            for name, value in self.reads.items()
        }
        rows = [
            {self._key.name: group, self.count: count, "group": group}
            for group, count in counts.items()
        ]
        put(connection, self.table, rows, again)


class _Moves:
    """Who came to which group and who went, between the rows before and after a batch."""

    def __init__(self, changes: Mapping[str, Change[Any]]) -> None:
        self.net: Counter[str] = Counter()
        self.touched: set[str] = set()
        self._arrivals: dict[str, list[RecordedEvent]] = {}
        self._departures: dict[str, list[RecordedEvent]] = {}
        for change in changes.values():
            self._note(change)

    def _note(self, change: Change[Any]) -> None:
        before, after = change.before, change.after
        if before.row == after.row:
            return
        self.touched |= {group for group in (before.group, after.group) if group is not None}
        if before.group == after.group:
            return
        if before.group is not None and change.departure is not None:
            self.net[before.group] -= 1
            self._departures.setdefault(before.group, []).append(change.departure)
        if after.group is not None and change.arrival is not None:
            self.net[after.group] += 1
            self._arrivals.setdefault(after.group, []).append(change.arrival)

    def entries(self, before: Mapping[str, int], after: Mapping[str, int]) -> Iterator[Entry]:
        """Yield the groups that begin, by their first arrival, and end, by their last departure."""
        for group, count in after.items():
            if count and not before[group]:
                first = min(self._arrivals[group], key=_in_time)
                yield Entry(group, "entered", cause_of(first))
            elif before[group] and not count:
                last = max(self._departures[group], key=_in_time)
                yield Entry(group, "left", cause_of(last))


def _in_time(event: RecordedEvent) -> tuple[int, str]:
    return event.decided_at, event.aggregate_id

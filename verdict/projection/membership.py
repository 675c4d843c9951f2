"""Groups that are shown while they have members, with a feed of those that begin and end."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Self

from sqlalchemy import Connection, Table, func, select

from verdict.model.recorded_event import RecordedEvent
from verdict.projection.change_feed import Cause, ChangeFeed, Entry, cause_of
from verdict.projection.fold import Change, Row
from verdict.projection.row_projection import GroupView
from verdict.projection.tally import CountedGroups, Counts


@dataclass(frozen=True, kw_only=True)
class Membership(Generic[Row]):
    """How many members a group has.

    Args:
        groups: The table; its one count is the number of members.
        feed: Where groups that begin and end are announced, None for nowhere.
    """

    groups: CountedGroups
    feed: ChangeFeed | None

    def update(self, connection: Connection, changes: Iterable[Change[Row]]) -> None:
        """Count who came and who went, and announce the groups that thereby began or ended.

        A group whose members only changed is announced nowhere and never disappears; one that
        lost its last member and won another in the same batch is not announced either.
        """
        moves = _Moves(changes)
        net = {group: (moves.net[group],) for group in moves.touched}
        before, after = self.groups.move(connection, net)
        if self.feed is not None:
            self.feed.append(connection, [*moves.entries(before, after)])

    def fill(self, connection: Connection) -> None:
        """Count the members of every group; nothing is announced."""
        self.groups.fill(connection, [func.count()])

    @property
    def tables(self) -> Sequence[Table]:
        """The table of the groups."""
        return [self.groups.table]

    def unannounced(self) -> Self:
        """Return the same membership without a feed."""
        return replace(self, feed=None)

    def announce(self, connection: Connection, before: GroupView[Row], now: int) -> None:
        """Tell the feed which groups only one of the two versions has; no event is their cause."""
        assert isinstance(before, Membership)
        assert self.feed is not None, "what readers see announces its changes"
        changes = [(group, "entered") for group in self._only_here(connection, before)]
        changes += [(group, "left") for group in before._only_here(connection, self)]
        cause = Cause(aggregate_id="", event_id=f"swap:{self.groups.table.name}", decided_at=now)
        self.feed.append(connection, [Entry(group, kind, cause) for group, kind in changes])

    def _only_here(self, connection: Connection, other: "Membership[Any]") -> list[str]:
        only = select(self.groups.key).except_(select(other.groups.key))
        return [*connection.execute(only).scalars()]


class _Moves:
    """Who came to which group and who went, between the rows before and after a batch."""

    def __init__(self, changes: Iterable[Change[Any]]) -> None:
        self.net: Counter[str] = Counter()
        self.touched: set[str] = set()
        self._arrivals: dict[str, list[RecordedEvent]] = {}
        self._departures: dict[str, list[RecordedEvent]] = {}
        for change in changes:
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

    def entries(self, before: Mapping[str, Counts], after: Mapping[str, Counts]) -> Iterator[Entry]:
        """Yield the groups that begin, by their first arrival, and end, by their last departure."""
        for group, (count,) in after.items():
            if count and before[group] == (0,):
                first = min(self._arrivals[group], key=_in_time)
                yield Entry(group, "entered", cause_of(first))
            elif not count and before[group] != (0,):
                last = max(self._departures[group], key=_in_time)
                yield Entry(group, "left", cause_of(last))


def _in_time(event: RecordedEvent) -> tuple[int, str]:
    return event.decided_at, event.aggregate_id

"""A feed of the groups that begin and end: one row per change, numbered without gaps."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from sqlalchemy import BigInteger, Column, Connection, MetaData, Table, Text, select

from verdict.adapters.sql import sequence
from verdict.adapters.sql.column_types import InstantType
from verdict.adapters.sql.statements import append
from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.projections.documented_view import View, described
from verdict.read_side.projections.row_fold import RowChange

Turn = Literal["entered", "left"]
Turns = Mapping[str, Turn]
"""By group, whether it begins or ends."""


class FeedEntry(NamedTuple):
    """A group that begins or ends: when, by which aggregate, and by which event.

    No aggregate is behind it when another version of the projection is.
    """

    at: int
    group: str
    kind: Turn
    aggregate_id: str
    event_id: str


@dataclass(frozen=True)
class ChangeFeed:
    """The table of a feed.

    All versions of a projection have the same feed, as readers follow its `seq`: so the number in
    its name is that of its form.
    """

    table: Table
    groups: Table
    key: str
    member: str

    def append(
        self, connection: Connection, turns: Turns, changes: Iterable[RowChange[Any]]
    ) -> None:
        """Write down the groups that begin and end; the last thing that a projection does."""
        self._append(connection, [*_entries(turns, changes)])

    def announce(self, connection: Connection, before: "ChangeFeed | None", now: int) -> None:
        """Write down which groups readers see now and did not, and the other way."""
        event_id = f"promote:{self.groups.name}"
        entered, left = self._only_here(connection, before), list[str]()
        if before is not None:
            left = before._only_here(connection, self)
        entries = [FeedEntry(now, group, "entered", "", event_id) for group in entered]
        entries += [FeedEntry(now, group, "left", "", event_id) for group in left]
        self._append(connection, entries)

    def view(self, about: str) -> View:
        """Return what readers see of the feed."""
        columns = {
            "seq": "Counts the changes from 1 without gaps: remember the last one that you have "
            "seen.",
            self.key: "Who entered or left.",
            "kind": "`entered` or `left`.",
            self.member: "The aggregate that caused it; empty after a promotion.",
            "event_id": "Id of the event that caused it; `promote:…` after a promotion.",
            "at": "When that was decided.",
        }
        return described(select(self.table), about, **columns)

    def _only_here(self, connection: Connection, other: "ChangeFeed | None") -> list[str]:
        only: Any = select(self.groups.c[self.key])
        if other is not None:
            only = only.except_(select(other.groups.c[other.key]))
        return [*connection.execute(only).scalars()]

    def _append(self, connection: Connection, entries: Sequence[FeedEntry]) -> None:
        if not entries:
            return
        numbers = sequence.take_numbers(connection, self.table.name, len(entries))
        rows = [
            {
                "seq": seq,
                self.key: entry.group,
                "kind": entry.kind,
                self.member: entry.aggregate_id,
                "event_id": entry.event_id,
                "at": entry.at,
            }
            # in the order of their times, and where those are equal in one that is always the same
            for seq, entry in zip(numbers, sorted(entries), strict=True)
        ]
        append(connection, self.table, rows)


def feed_table(name: str, metadata: MetaData, key: str, member: str) -> Table:
    """Return the table of a feed, whose sequence has the same name."""
    return Table(
        name,
        metadata,
        Column("seq", BigInteger, primary_key=True, autoincrement=False),
        Column(key, Text, nullable=False),
        Column("kind", Text, nullable=False),
        Column(member, Text, nullable=False),
        Column("event_id", Text, nullable=False),
        Column("at", InstantType, nullable=False),
    )


def _entries(turns: Turns, changes: Iterable[RowChange[Any]]) -> Iterator[FeedEntry]:
    """Yield the groups that begin, by their first arrival, and end, by their last departure."""
    causes: dict[str, list[RecordedEvent]] = {group: [] for group in turns}
    for change in changes if turns else ():
        before, after = change.before.group, change.after.group
        if before == after:
            continue
        if before is not None and turns.get(before) == "left" and change.departure is not None:
            causes[before].append(change.departure)
        if after is not None and turns.get(after) == "entered" and change.arrival is not None:
            causes[after].append(change.arrival)
    for group, turn in turns.items():
        cause = (min if turn == "entered" else max)(causes[group], key=_in_time)
        yield FeedEntry(cause.decided_at, group, turn, cause.aggregate_id, cause.event_id)


def _in_time(event: RecordedEvent) -> tuple[int, str]:
    return event.decided_at, event.aggregate_id

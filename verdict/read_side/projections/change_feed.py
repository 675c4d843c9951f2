"""A feed of the groups that begin and end: one row per change, numbered without gaps."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from sqlalchemy import BigInteger, Connection, MetaData, Table, Text, select

from verdict.adapters.sql import sequence
from verdict.adapters.sql.bulk import BulkRows
from verdict.adapters.sql.column_types import InstantType
from verdict.adapters.sql.statements import append
from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.projections.documented_view import View, described
from verdict.read_side.projections.row_fold import RowChange
from verdict.read_side.tables.columns import primary, required

Turn = Literal["entered", "left"]
Turns = Mapping[str, Turn]
"""By group, whether it begins or ends."""


class FeedEntry(NamedTuple):
    """A group that begins or ends; `aggregate_id` is empty after a promotion."""

    at: int
    group: str
    kind: Turn
    aggregate_id: str
    event_id: str


@dataclass(frozen=True)
class ChangeFeed:
    """The table of a feed, the same for all versions of a projection: readers follow its `seq`."""

    table: Table
    groups: Table
    key: str
    member: str

    def append(
        self, connection: Connection, turns: Turns, changes: Iterable[RowChange[Any]]
    ) -> None:
        """Record the groups that begin and end; the last thing that a projection does."""
        self._append(connection, [*_entries(turns, changes)])

    def announce(self, connection: Connection, before: "ChangeFeed | None", now: int) -> None:
        """Record the difference between the groups that readers saw and those that they see now."""
        event_id = f"promote:{self.groups.name}"
        entered, left = self._only_here(connection, before), list[str]()
        if before is not None:
            left = before._only_here(connection, self)
        entries = [FeedEntry(now, group, "entered", "", event_id) for group in entered]
        entries += [FeedEntry(now, group, "left", "", event_id) for group in left]
        self._append(connection, entries)

    def view(self, about: str) -> View:
        return described(select(self.table), about)

    def _only_here(self, connection: Connection, other: "ChangeFeed | None") -> list[str]:
        only: Any = select(self.groups.c[self.key])
        if other is not None:
            only = only.except_(select(other.groups.c[other.key]))
        return [*connection.execute(only).scalars()]

    def _append(self, connection: Connection, entries: Sequence[FeedEntry]) -> None:
        if not entries:
            return
        numbers = sequence.take_numbers(connection, self.table.name, len(entries))
        # by time, and where times are equal in an order that is always the same
        numbered = zip(numbers, sorted(entries), strict=True)
        rows = [
            (seq, group, kind, name, event, at) for seq, (at, group, kind, name, event) in numbered
        ]
        append(connection, self.table, BulkRows(self.table.columns.keys(), rows))


def feed_table(name: str, metadata: MetaData, key: str, member: str) -> Table:
    """Return the table of a feed, whose sequence has the same name."""
    return Table(
        name,
        metadata,
        primary("seq", BigInteger, "Counts the changes from 1 without gaps."),
        required(key, Text, "Who entered or left."),
        required("kind", Text, "`entered` or `left`."),
        required(member, Text, "The aggregate that caused it; empty after a promotion."),
        required("event_id", Text, "Id of the event; `promote:…` after a promotion."),
        required("at", InstantType, "When that was decided."),
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

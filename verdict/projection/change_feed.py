"""A feed of who entered and who left: one row per change, numbered without gaps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import BigInteger, Column, Connection, MetaData, Table, Text, select

from verdict.database import sequence
from verdict.database.instant import InstantType
from verdict.database.statements import append
from verdict.model.recorded_event import RecordedEvent
from verdict.projection.described import View, described


class Cause(NamedTuple):
    """What is behind a change: an event of a member; or a swap, which no member did."""

    aggregate_id: str
    event_id: str
    decided_at: int


def cause_of(event: RecordedEvent) -> Cause:
    """Return the event as a cause."""
    return Cause(event.aggregate_id, event.event_id, event.decided_at)


class Entry(NamedTuple):
    """A group that begins to exist (`entered`) or ceases to (`left`), and what is behind it."""

    group: str
    kind: str
    cause: Cause


@dataclass(frozen=True)
class ChangeFeed:
    """The table of a feed.

    Args:
        table: From `feed_table`.
        key: The column of the group.
        member: The column of the aggregate whose event is the cause.
    """

    table: Table
    key: str
    member: str

    def append(self, connection: Connection, entries: Sequence[Entry]) -> None:
        """Number the entries and insert them; the last thing that a projection does in a batch.

        Their order is that of their causes' times, and where those are equal the same always.
        """
        if not entries:
            return
        entries = sorted(entries, key=lambda e: (e.cause.decided_at, e.group, e.kind))
        numbers = sequence.take(connection, self.table.name, len(entries))
        rows = [
            {
                "seq": seq,
                self.key: entry.group,
                "kind": entry.kind,
                self.member: entry.cause.aggregate_id,
                "event_id": entry.cause.event_id,
                "at": entry.cause.decided_at,
            }
            for seq, entry in zip(numbers, entries, strict=True)
        ]
        append(connection, self.table, rows)


def feed_view(table: Table, about: str, key: str, member: str) -> View:
    """Return what shows the feed to readers.

    Args:
        table: From `feed_table`.
        about: A sentence about the feed.
        key: As for `feed_table`.
        member: As for `feed_table`.
    """
    columns = {
        "seq": "Counts the changes from 1 without gaps: remember the last one that you have seen.",
        key: "Who entered or left.",
        "kind": "`entered` or `left`.",
        member: "What was behind it; empty when a new version of the read model was.",
        "event_id": "Id of the event behind it; `swap:…` when a new version of the read model was.",
        "at": "When that was decided.",
    }
    return described(select(table), about, **columns)


def feed_table(name: str, metadata: MetaData, key: str, member: str) -> Table:
    """Return the table of a feed, whose sequence has the same name.

    Name it by the version of its form, not by the projection's: readers follow its `seq`, so it
    goes on when a projection is built anew.
    """
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

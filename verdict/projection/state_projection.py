"""One row per key of a topic that carries states: each record is all that is known of its key.

Offsets take the place of versions. There is no gap to be seen: what compaction has removed was
overtaken. A record without a value removes the row, and nothing remains, as nothing remains in
the topic either; so a table that is built from the compacted topic is the same.

A record at fault holds its key only: the row stays as it was until the key's next record takes the
place of that one. If compaction has removed the record before it, too, a table that is built then
has no row of the key.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from sqlalchemy import Connection, Table, delete

from verdict.database.statements import is_any_of
from verdict.projection.batch import Delivery
from verdict.projection.builder import StateBuilder
from verdict.projection.feedless import Feedless
from verdict.projection.fold import Group, Row
from verdict.projection.newest_states import NewestStates, key_of
from verdict.projection.projection import Applied, View
from verdict.projection.row_projection import GroupView
from verdict.projection.stored_rows import Form, StoredRows
from verdict.wire.topics import Topics


@dataclass(frozen=True, kw_only=True)
class StateProjection(Feedless, Generic[Row]):
    """A read model of the newest states.

    Args:
        name: Of the projection.
        version: Part of every table's name; another version is built beside this one.
        row: The named tuple of the declared columns.
        table: From `row_table`; only keys that have a state are in it.
        follows: The topic, without a deployment's prefix; all records of a key are on one
            partition.
        shown: State → row; pure.
        group: Row → the group it belongs to, or None; pure.
        shows: What readers see of the groups.
        views: View name → what it selects.
        settings: What `shown` and `group` depend on besides the records, spelled out.
    """

    name: str
    version: int
    row: type[Row]
    table: Table
    follows: str
    shown: Callable[[Any], Row]
    group: Group[Row]
    shows: GroupView[Row]
    views: Mapping[str, View]
    settings: str = ""

    sequences = ()
    waits_for_events = False

    @property
    def tables(self) -> Sequence[Table]:
        """The rows, and the groups that are shown of them."""
        return [self.table, *self.shows.tables]

    def topics(self, topics: Topics) -> Sequence[str]:
        """Return the one topic that it follows."""
        return (topics.named(self.follows),)

    def apply(self, connection: Connection, deliveries: Sequence[Delivery]) -> Applied:
        """Load the rows of the batch's keys, put the newest states in their place."""
        rows = StoredRows(self.table, self.row)
        kept = rows.load(connection, {key_of(delivery) for delivery in deliveries})
        states = NewestStates(self.shown, self.group)
        applied = states.run(kept, deliveries)
        changes = states.changes
        present = {key: one.after for key, one in changes.items() if one.after.row is not None}
        rows.put(connection, present, kept)
        self._remove(connection, [key[1] for key in changes if key in kept.keys() - present.keys()])
        self.shows.update(connection, changes.values())
        return applied

    @property
    def builder(self) -> StateBuilder[Row]:
        """Keeps each key's newest state."""
        return StateBuilder(self.shown, self.group, Form(self.row, of_types=False))

    def complete(self, connection: Connection) -> None:
        """Make the groups from the rows."""
        self.shows.fill(connection)

    def _remove(self, connection: Connection, keys: Sequence[str]) -> None:
        if keys:
            gone = is_any_of(connection, self.table.c.aggregate_id, keys)
            connection.execute(delete(self.table).where(gone))

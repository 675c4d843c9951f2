"""The read models of an application on a SQLite file of their own, brought forward when asked."""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import event

from verdict.adapters.sql.readers.reader import TIMEOUT_S
from verdict.adapters.sql.readers.selected import Parameters
from verdict.adapters.sql.readers.sqlite_reader import SqliteReader
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import NOTHING, ProjectionBatch
from verdict.read_side.apply.missing_events import missing_events
from verdict.read_side.live.decoding import RecordDecoder
from verdict.read_side.projections.projection import Applied, Projection
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.read_side.tables import followed_by
from verdict.read_side.tables.processor_tables import readable
from verdict.settings.database_address import url_of
from verdict.testing.log import MemoryLog
from verdict.wire.partitions import OffsetRange
from verdict.wire.topics import Topics

FILE = "verdict.db"

Row = dict[str, Any]


class ReadSide:
    """Tables and views as `verdict up` makes them, for one thread.

    What a power loss would do to the file is nobody's concern, so nothing waits for the disk.

    Args:
        folder: An existing one.
        topics: Of the deployment.
        projections: The read models, in the order in which a batch updates them.
        clock: Epoch milliseconds, for what people want to know of gaps and failures.
    """

    def __init__(
        self,
        folder: Path,
        topics: Topics,
        projections: Sequence[Projection],
        clock: Callable[[], int],
    ) -> None:
        self.database = open_database(url_of(folder / FILE))
        event.listen(self.database, "connect", _unsynced)
        self.database.dispose()  # the connections that were made before
        create_read_side(self.database, projections)
        self.appliers = [
            Applier(self.database, projection, topics, clock, missing=missing_events)
            for projection in projections
        ]
        with self.database.begin() as connection:
            followed = {one.projection.name: one.topics for one in self.appliers}
            followed_by.note_topics(connection, followed)
        self._decoding = RecordDecoder(topics)
        self._followed = sorted({name for applier in self.appliers for name in applier.topics})
        self._taken = MemoryLog(topics).ends(self._followed)
        self._reader = SqliteReader(folder / FILE, readable(projections), TIMEOUT_S, masked=False)

    def follow(self, log: MemoryLog) -> list[Applied]:
        """Bring every read model to the end of `log`, in one batch, as a running service does."""
        ends = log.ends(self._followed)
        spans = {place: OffsetRange(self._taken[place], end) for place, end in ends.items()}
        records = [*log.since(self._taken)]
        deliveries = (self._decoding.delivery(*one[:3], one.key, one.value) for one in records)
        self._taken = ends
        if not records:
            return []
        batch = ProjectionBatch(deliveries, spans)
        return [_applied(applier, batch) for applier in self.appliers]

    def select(self, statement: str, parameters: Parameters = ()) -> list[Row]:
        """Return the rows of one SELECT on the views, by column, as an auditor sees them.

        Raises:
            NotAllowedError: It touches more than the views.
            VerdictError: It is no SQL, names what does not exist, or takes too long.
        """
        found = self._reader.select(statement, parameters)
        return [dict(zip(found.columns, row, strict=True)) for row in found.rows]

    def close(self) -> None:
        """Let the file go."""
        self._reader.close()
        self.database.dispose()


def _applied(applier: Applier, batch: ProjectionBatch) -> Applied:
    applied = applier.follow(batch)
    while applier.released:
        applier.follow(NOTHING)
    return applied


def _unsynced(connection: sqlite3.Connection, record: object) -> None:
    connection.execute("PRAGMA synchronous=OFF")

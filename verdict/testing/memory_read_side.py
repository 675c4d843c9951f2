"""The projections of an application in a SQLite file, updated when a test reads them."""

import sqlite3
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.event import listen

from verdict.adapters.sql.readers.reader import TIMEOUT_S
from verdict.adapters.sql.readers.selected import Parameters
from verdict.adapters.sql.readers.sqlite_reader import SqliteReader
from verdict.model.application import Application
from verdict.model.message import Fields
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import NOTHING, ProjectionBatch
from verdict.read_side.apply.missing_events import missing_events
from verdict.read_side.live.decoding import RecordDecoder
from verdict.read_side.projections.projection import Applied, Projection
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.read_side.schema.system_views import readable
from verdict.read_side.tables import source_topics
from verdict.settings.database_address import url_of
from verdict.testing.memory_log import MemoryLog
from verdict.testing.outcome import difference, lines_of
from verdict.wire.partitions import OffsetRange
from verdict.wire.stored_event import StoredEvent
from verdict.wire.topics import Topics

FILE = "verdict.db"


class ReadSide:
    """Tables and views as `verdict up` makes them, for one thread; no write waits for the disk.

    `projections` are in the order in which a batch updates them. `clock` gives the times of gaps
    and failures in epoch milliseconds.
    """

    def __init__(
        self,
        folder: Path,
        topics: Topics,
        projections: Sequence[Projection],
        clock: Callable[[], int],
    ) -> None:
        self.database = open_database(url_of(folder / FILE))
        listen(self.database, "connect", _unsynced)
        self.database.dispose()  # the connections that were made before
        create_read_side(self.database, projections)
        self.appliers = [
            Applier(self.database, projection, topics, clock, missing=missing_events)
            for projection in projections
        ]
        with self.database.begin() as connection:
            followed = {one.projection.name: one.topics for one in self.appliers}
            source_topics.note_followed(connection, followed)
        self._decoding = RecordDecoder(topics)
        self._followed = sorted({name for applier in self.appliers for name in applier.topics})
        self._taken = MemoryLog(topics).ends(self._followed)
        self._reader = SqliteReader(folder / FILE, readable(projections), TIMEOUT_S, masked=False)

    def follow(self, log: MemoryLog) -> list[Applied]:
        """Bring every projection to the end of `log`, in one batch, as a service does."""
        ends = log.ends(self._followed)
        spans = {place: OffsetRange(self._taken[place], end) for place, end in ends.items()}
        records = [*log.since(self._taken)]
        deliveries = (self._decoding.delivery(*one[:3], one.key, one.value) for one in records)
        self._taken = ends
        if not records:
            return []
        batch = ProjectionBatch(deliveries, spans)
        return [_applied(applier, batch) for applier in self.appliers]

    def select(self, statement: str, parameters: Parameters = ()) -> list[Fields]:
        """Return the rows of one SELECT on the views, by column, as an auditor sees them."""
        found = self._reader.select(statement, parameters)
        return [dict(zip(found.columns, row, strict=True)) for row in found.rows]

    def close(self) -> None:
        self._reader.close()
        self.database.dispose()


def _applied(applier: Applier, batch: ProjectionBatch) -> Applied:
    applied = applier.follow(batch)
    while applier.released:
        applier.follow(NOTHING)
    return applied


def _unsynced(connection: sqlite3.Connection, record: object) -> None:
    connection.execute("PRAGMA synchronous=OFF")


@dataclass(frozen=True)
class ShownRows:
    """A view of a projection that has seen a history."""

    application: Application
    history: Sequence[StoredEvent]
    read_model: Projection
    view: str

    def then(self, *rows: Mapping[str, object]) -> None:
        """Expect exactly these rows, in any order."""
        __tracebackhide__ = True
        found = self.rows()
        wanted = sorted(map(dict, rows), key=_shown)
        if len({frozenset(row) for row in wanted}) > 1:
            raise ValueError("name the same columns in every row")
        named = wanted[0] if wanted else (found[0] if found else {})
        came = sorted(({name: row.get(name) for name in named} for row in found), key=_shown)
        if wanted != came:
            raise difference(
                f"{self.view} shows something else",
                lines_of(self.history),
                [f"SELECT {', '.join(named) or '*'} FROM {self.view}"],
                [*map(repr, wanted)],
                [*map(repr, came)],
            )

    def rows(self) -> list[Fields]:
        """Return the rows of the view."""
        with tempfile.TemporaryDirectory(prefix="verdict-") as folder:
            side = ReadSide(Path(folder), Topics(self.application), [self.read_model], lambda: 0)
            try:
                self._see(side)
                return side.select(f"SELECT * FROM {self.view}")
            finally:
                side.close()

    def _see(self, side: ReadSide) -> None:
        topics = Topics(self.application)
        log = MemoryLog(topics)
        for event, value in self.history:
            topic, key = topics.events(event.aggregate_type), event.aggregate_id.encode()
            log.append(topic, key, value, event.decided_at)
        for applied in side.follow(log):
            for gap in applied.gaps:
                raise AssertionError(f"{self.read_model.name} fails: {gap.fault}") from gap.fault
        [applier] = side.appliers
        if applier.failure is not None:
            what = f"{self.read_model.name} fails: {applier.failure}"
            raise AssertionError(what) from applier.failure


def _shown(row: Mapping[str, object]) -> str:
    return repr(sorted(row.items()))

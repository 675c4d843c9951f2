"""A read side on a SQLite file, as `verdict up` makes it, and short ways to look at it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine

from compose.database import create_read_side, open_database
from compose.reader import Reader
from projections.engine.applier import Applier
from projections.engine.creation import view_names
from projections.engine.projection import Projection
from projections.registry import projections
from schemas.topics import Topics

NOW = 1_795_300_000_000
Rows = list[tuple[Any, ...]]


class ReadSide:
    """One database, and the projections whose tables are in it."""

    def __init__(self, file: Path, declared: Sequence[Projection] | None = None) -> None:
        self.projections = {p.name: p for p in (projections() if declared is None else declared)}
        self.url = URL.create("sqlite", database=str(file)).render_as_string()
        self.engine = self.open()
        create_read_side(self.engine, [*self.projections.values()])

    def open(self) -> Engine:
        """Return an engine of its own, as another process has."""
        return open_database(self.url)

    def applier(self, name: str, engine: Engine | None = None) -> Applier:
        """Return a new applier, as a restart does."""
        return Applier(engine or self.engine, self.projections[name], Topics(), lambda: NOW)

    def reader(self) -> Reader:
        """Return a connection that may read the views."""
        return Reader(self.url, view_names([*self.projections.values()]))

    def select(self, statement: str) -> Rows:
        """Return the rows that a reader sees."""
        with self.reader() as reader:
            return [*reader.select(statement).rows]

    def dump(self) -> dict[str, Rows]:
        """Return every table as it is, sorted."""
        with self.engine.connect() as connection:
            names = connection.exec_driver_sql(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
            ).scalars()
            return {
                name: sorted(map(tuple, connection.exec_driver_sql(f'SELECT * FROM "{name}"')))
                for name in names.all()
            }

    def holders(self) -> dict[str, int]:
        """Return client → how many US positions the client holds."""
        return dict(self.select("SELECT client, positions FROM us_holder"))

    def changes(self) -> Rows:
        """Return (client, kind, position_id) of the whole feed, in its order."""
        return self.select("SELECT client, kind, position_id FROM us_holder_change ORDER BY seq")

    def close(self) -> None:
        """Let go of the file."""
        self.engine.dispose()

"""An outbox on a database, and processes that share it, at a time that the test sets."""

from typing import Any

from sqlalchemy import Engine

from verdict.adapters.sql.readers.reader import Reader
from verdict.projections import Outbox
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.read_side.tables.outbox import VIEWS

NAME, BATCH = "weekly_mail", "2026-W46"
START = 1_794_787_200_000  # 2026-11-16T00:00:00Z
LEASE_S = 900
LEASE_MS = LEASE_S * 1000


class OutboxDatabase:
    """A database; `now` is the time that all processes have, in epoch milliseconds."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.now = START
        self.engine = open_database(url)
        create_read_side(self.engine, ())

    def process(self, worker: str = "w", engine: Engine | None = None) -> Outbox:
        """Return the outbox as a process sees it."""
        clock = lambda: self.now  # noqa: E731
        return Outbox(engine or self.engine, NAME, "test", LEASE_S, worker, clock)

    def record(self, *keys: str, engine: Engine | None = None) -> int:
        """Record a message for each key, with as many positions as the key has letters."""
        contents = ((key, {"positions": len(key)}) for key in keys)
        return self.process(engine=engine).record(BATCH, contents)

    def rows(self, columns: str = "key, status", where: str = "1 = 1") -> list[tuple[Any, ...]]:
        """Return what readers see of the outbox, in the order of the keys."""
        statement = f"SELECT {columns} FROM outbox WHERE {where} ORDER BY key"
        with Reader(self.url, [*VIEWS]) as reader:
            return [*reader.select(statement).rows]

    def close(self) -> None:
        """Disconnect."""
        self.engine.dispose()

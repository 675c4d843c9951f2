"""Reads the read side: SELECT on its views, and nothing else, whatever the statement says."""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from sqlalchemy import URL

from compose.configuration.settings import Settings
from compose.service import database_url
from compose.sql.database import driver_missing, is_sqlite, parse
from compose.sql.processor_tables import readable
from compose.sql.selected import NotAdmitted, NotForReaders, Parameters, Selected
from compose.sql.sqlite_reader import SqliteReader
from projections.engine.reader_role import READER
from projections.registry import projections

if TYPE_CHECKING:
    from compose.sql.postgresql_reader import PostgresqlReader

__all__ = ["NotAdmitted", "NotForReaders", "Reader", "Selected", "reader_of"]


class Reader:
    """A read-only connection for one thread; also a context manager."""

    def __init__(self, url: str, views: Sequence[str], role: str = READER) -> None:
        """Open the database at `url` for reading `views`.

        Args:
            url: As for `open_database`.
            views: Their names; all others are refused.
            role: That reads, on PostgreSQL.

        Raises:
            Unreachable: There is no such database, or it does not let us in.
            EnvironmentIncomplete: The driver of the database is not installed.
            NotAdmitted: There is no such role, or the user is not a member of it.
        """
        self.views = tuple(views)
        parsed = parse(url)
        self._reader = (
            SqliteReader(Path(parsed.database or "").absolute(), views)
            if is_sqlite(parsed)
            else _postgresql(parsed, views, role)
        )

    def select(self, statement: str, parameters: Parameters = ()) -> Selected:
        """Run one SELECT; the rows of the one before it are gone then.

        Raises:
            NotForReaders: It touches more than the views.
            VerdictError: It is no SQL, names what does not exist, or takes too long.
            Unreachable: The database went away.
        """
        return self._reader.select(statement, parameters)

    def close(self) -> None:
        """Give the connection back."""
        self._reader.close()

    def __enter__(self) -> "Reader":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _postgresql(url: URL, views: Sequence[str], role: str) -> "PostgresqlReader":
    try:
        from compose.sql.postgresql_reader import PostgresqlReader
    except ModuleNotFoundError as error:
        raise driver_missing(url, error) from error
    return PostgresqlReader(url, views, role)


def reader_of(settings: Settings) -> Reader:
    """Open the read side of `settings`, or of the running service, for reading all views."""
    views = readable(projections(settings.us_exchanges))
    return Reader(database_url(settings), views, settings.reader_role)

"""Reads the read side: SELECT on its views and nothing else, whatever the statement says."""

from collections.abc import Container, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from verdict.adapters.sql.readers.selected import (
    NotAllowedError,
    Parameters,
    RoleMissingError,
    Selected,
)
from verdict.adapters.sql.readers.sqlite_reader import SqliteReader, views_made_in
from verdict.settings.database_address import READER, driver_missing, file_of, parse
from verdict.settings.discovery import database_url
from verdict.settings.settings import Settings

if TYPE_CHECKING:
    from verdict.adapters.sql.readers.postgresql_reader import PostgresqlReader

TIMEOUT_S = 60.0  # unless the settings say otherwise

__all__ = ["Access", "NotAllowedError", "Reader", "RoleMissingError", "Selected", "open_reader"]


class Access(StrEnum):
    """How much a person sees; see `verdict.settings.database_address.Roles`."""

    READER = "reader"
    AUDITOR = "auditor"
    SUPPORT = "support"


class Reader:
    """A read-only connection for one thread; also a context manager.

    Attributes:
        views: The names of the views that can be read.
    """

    def __init__(
        self,
        url: str,
        views: Sequence[str] | None,
        role: str = READER,
        timeout_s: float = TIMEOUT_S,
        masked: bool = False,
        closed: Container[str] = (),
    ) -> None:
        """Open the database at `url` for reading `views`.

        Args:
            url: As in the setting `database_url`.
            views: Their names; None: all that verdict made there but `closed`.
            role: That reads, on PostgreSQL, and says what it may see.
            timeout_s: How long a query may take, with all of its rows.
            masked: Whether to hide what is personal in events, on SQLite.
            closed: Views that the role may not read.

        Raises:
            UnreachableError: There is no such database, or it does not let us in.
            RoleMissingError: There is no such role, or the user is not a member of it.
        """
        self._reader: SqliteReader | PostgresqlReader
        if (file := file_of(url)) is None:
            self._reader = _postgresql(url)(parse(url), views, role, timeout_s, closed)
        else:
            if views is None:
                views = [name for name in views_made_in(file) if name not in closed]
            self._reader = SqliteReader(file, views, timeout_s, masked)
        self.views = self._reader.views

    def select(self, statement: str, parameters: Parameters = ()) -> Selected:
        """Run one SELECT; the rows of the one before it are gone then.

        Raises:
            NotAllowedError: It touches more than the views.
            VerdictError: It is no SQL, names what does not exist, or takes too long.
            UnreachableError: The database went away.
        """
        return self._reader.select(statement, parameters)

    def close(self) -> None:
        """Give the connection back."""
        self._reader.close()

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _postgresql(url: str) -> "type[PostgresqlReader]":
    try:
        from verdict.adapters.sql.readers.postgresql_reader import PostgresqlReader
    except ModuleNotFoundError as error:
        raise driver_missing(parse(url), error) from error
    return PostgresqlReader


def open_reader(settings: Settings, sees: Access = Access.AUDITOR) -> Reader:
    """Open the read side of `settings`, or of the running service, for reading its views.

    SQLite has no roles: there `sees` prevents mistakes only.
    """
    role = role_of(settings, sees)
    masked, closed = sees is Access.READER, dict(settings.roles.each())[role]
    return Reader(database_url(settings), None, role, settings.sql_timeout_s, masked, closed)


def role_of(settings: Settings, sees: Access) -> str:
    """Return the name of the role that sees so much."""
    name: str = getattr(settings.roles, sees)
    return name

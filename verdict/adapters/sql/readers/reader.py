"""Reads the read side: SELECT on its views, and nothing else, whatever the statement says."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from verdict.adapters.sql.readers.limited import LimitedRows, limit_rows
from verdict.adapters.sql.readers.selected import (
    NotAllowedError,
    Parameters,
    RoleMissingError,
    Selected,
)
from verdict.adapters.sql.readers.sqlite_reader import SqliteReader, views_made_in
from verdict.settings.database_address import driver_missing, file_of, parse
from verdict.settings.database_roles import READER
from verdict.settings.discovery import database_url
from verdict.settings.settings import Settings

if TYPE_CHECKING:
    from sqlalchemy import URL

    from verdict.adapters.sql.readers.postgresql_reader import PostgresqlReader

TIMEOUT_S = 60.0  # unless the settings say otherwise

__all__ = ["Access", "NotAllowedError", "Reader", "RoleMissingError", "Selected", "open_reader"]


class Access(StrEnum):
    """How much somebody sees; see `verdict.settings.database_roles.Roles`."""

    READER = "reader"
    AUDITOR = "auditor"
    SUPPORT = "support"


class Reader:
    """A read-only connection for one thread; also a context manager."""

    def __init__(
        self,
        url: str,
        views: Sequence[str],
        role: str = READER,
        timeout_s: float = TIMEOUT_S,
        masked: bool = False,
    ) -> None:
        """Open the database at `url` for reading `views`.

        Args:
            url: As for `open_database`.
            views: Their names; all others are refused.
            role: That reads, on PostgreSQL, and says what it may see.
            timeout_s: How long a query may take, with all of its rows.
            masked: Whether to hide what is personal in events, on SQLite.

        Raises:
            UnreachableError: There is no such database, or it does not let us in.
            EnvironmentIncompleteError: The driver of the database is not installed.
            RoleMissingError: There is no such role, or the user is not a member of it.
        """
        self.views = tuple(views)
        self._reader = (
            SqliteReader(file, views, timeout_s, masked)
            if (file := file_of(url)) is not None
            else _postgresql(parse(url), views, role, timeout_s)
        )

    def select(self, statement: str, parameters: Parameters = ()) -> Selected:
        """Run one SELECT; the rows of the one before it are gone then.

        Raises:
            NotAllowedError: It touches more than the views.
            VerdictError: It is no SQL, names what does not exist, or takes too long.
            UnreachableError: The database went away.
        """
        return self._reader.select(statement, parameters)

    def few(self, statement: str, most: int) -> LimitedRows:
        """Run one SELECT of somebody whom nobody knows, who gets the first rows and no more rights.

        Args:
            statement: Any text.
            most: Rows.

        Raises:
            NotAllowedError: It touches more than the views.
            VerdictError: It is no SQL, takes too long or too much, or nobody may ask like this.
            UnreachableError: The database went away.
        """
        return limit_rows(self._reader.confined(statement, most + 1), most)

    def close(self) -> None:
        """Give the connection back."""
        self._reader.close()

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _postgresql(
    url: "URL", views: Sequence[str], role: str, timeout_s: float
) -> "PostgresqlReader":
    try:
        from verdict.adapters.sql.readers.postgresql_reader import PostgresqlReader
    except ModuleNotFoundError as error:
        raise driver_missing(url, error) from error
    return PostgresqlReader(url, views, role, timeout_s)


def open_reader(settings: Settings, sees: Access = Access.AUDITOR) -> Reader:
    """Open the read side of `settings`, or of the running service, for reading its views.

    Args:
        settings: Where it is, and how the roles are called.
        sees: How much; on SQLite, which has no roles, what is kept from mistakes.
    """
    url, role = database_url(settings), role_of(settings, sees)
    file, masked = file_of(url), sees is Access.READER
    if file is not None:
        views: Sequence[str] = settings.roles.open_to(role, views_made_in(file))
    else:
        from verdict.read_side.schema.system_views import views_for

        views = [*views_for(settings, sees)]
    return Reader(url, views, role, settings.sql_timeout_s, masked)


def role_of(settings: Settings, sees: Access) -> str:
    """Return the name of the role that sees so much."""
    roles = settings.roles
    return {
        Access.READER: roles.reader, Access.AUDITOR: roles.auditor, Access.SUPPORT: roles.support,
    }[sees]  # fmt: skip

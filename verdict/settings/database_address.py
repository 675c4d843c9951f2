"""Where a database is: what its URL says."""

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from verdict.adapters.sql import sqlite_file
from verdict.errors import EnvironmentIncompleteError, VerdictError

if TYPE_CHECKING:
    from sqlalchemy import URL

OF_A_FILE = "sqlite:///"


def url_of(file: Path) -> str:
    """Return the URL of a SQLite database, with its path escaped as `parse` reads it."""
    path = str(file.absolute()).replace("%", "%25").replace("?", "%3F")
    return f"{OF_A_FILE}{path}"


def file_of(url: str) -> Path | None:
    """Return the file of a SQLite database; None: it is another one.

    Raises:
        VerdictError: It is of no database that verdict knows, or none at all.
    """
    if url.startswith(OF_A_FILE) and not {"?", "%"} & {*url}:
        return Path(url.removeprefix(OF_A_FILE)).absolute()
    parsed = parse(url)
    return Path(parsed.database or "").absolute() if is_sqlite(parsed) else None


def parse(url: str) -> "URL":
    """Return the URL, a plain PostgreSQL one with the driver that we use (psycopg 3).

    Raises:
        VerdictError: It is of no database that verdict knows, or none at all.
    """
    from sqlalchemy import make_url  # which who reads a file need not wait for
    from sqlalchemy.exc import ArgumentError

    try:
        parsed = make_url(url)
    except ArgumentError as error:
        # without the URL itself, as it may hold a password
        raise VerdictError(f"database URL: {error}, such as sqlite:////absolute/path") from None
    if parsed.drivername in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() not in ("sqlite", "postgresql"):
        raise VerdictError(
            f"database {parsed.get_backend_name()!r} is not supported: "
            "use sqlite:////absolute/path or postgresql://…"
        )
    return parsed


def driver_missing(url: "URL", error: ModuleNotFoundError) -> EnvironmentIncompleteError:
    """Return what to say when the driver of a database is not installed."""
    return EnvironmentIncompleteError(
        f"{error.name} is not installed, and {masked_url(url)} needs it: "
        "pip install 'verdict-cqrs[postgres]'"
    )


def masked_url(url: "URL") -> str:
    """Return a URL for people: without its passwords, wherever they stand in it."""
    hidden = {name: "***" for name in url.query if "password" in name}
    return url.update_query_dict(hidden).render_as_string(hide_password=True)


def is_sqlite(url: "URL") -> bool:
    """Tell whether the database is a file of ours."""
    return url.get_backend_name() == "sqlite"


def one_line_error(error: object) -> str:
    """Return a driver's message without line breaks; of a damaged file what to do about it, too.

    Of one that is no database nobody is told to remove it: it may be somebody's letters.
    """
    said = " ".join(str(error).split())
    if sqlite_file.primary_code(error) == sqlite3.SQLITE_CORRUPT:
        return f"the database is damaged ({said}): {sqlite_file.A_SOUND_COPY}"
    return said

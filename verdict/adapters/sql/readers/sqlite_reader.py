"""Reads the views of a SQLite file, guarded by an authorizer, as SQLite has no roles."""

import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from verdict.adapters.sql.readers.selected import NotAllowedError, Parameters, Selected, SqlError
from verdict.adapters.sql.sqlite_file import A_SOUND_COPY, is_damaged
from verdict.errors import UnreachableError, VerdictError

PERSONAL = "masked_"  # prefix of the name of a table's column that is personal as a whole
ARCHIVE, WHOLE_EVENT = "event_archive_v", "value"

ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE}
REFUSED_FUNCTION = "load_extension"
TABLE_FUNCTIONS = {"json_each", "json_tree"}
OF_SQLITE = ("sqlite_", "pragma_")
SCHEMA = "sqlite_master"
STATEMENTS = {
    sqlite3.SQLITE_ATTACH: "ATTACH",
    sqlite3.SQLITE_DETACH: "DETACH",
    sqlite3.SQLITE_PRAGMA: "PRAGMA",
    sqlite3.SQLITE_INSERT: "INSERT",
    sqlite3.SQLITE_UPDATE: "UPDATE",
    sqlite3.SQLITE_DELETE: "DELETE",
    sqlite3.SQLITE_TRANSACTION: "a transaction",
}
THERE = "SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view')"
MODULES = "PRAGMA module_list"
OURS = "SELECT count(*) FROM verdict_migration_v1"  # fails in a file that is not ours
MADE = "SELECT name FROM sqlite_master WHERE type = 'view' AND sql LIKE '%/* verdict:%' ORDER BY 1"
STEPS = 10_000  # of SQLite's machine between two looks at the clock: about 0.1 ms


class SqliteReader:
    """A read-only connection for one thread."""

    def __init__(self, path: Path, views: Sequence[str], timeout_s: float, masked: bool) -> None:
        """Open the file at `path` for reading `views`."""
        self.views = tuple(views)
        self._timeout_s = timeout_s
        self._until = 0.0
        self._authorizer = _Authorizer(views, masked)
        with _reading(path) as connection:
            self._connection = connection
            connection.set_progress_handler(self._is_late, STEPS)
            self._authorizer.guard(connection)

    def select(self, statement: str, parameters: Parameters) -> Selected:
        """Run one SELECT."""
        self._until = time.monotonic() + self._timeout_s
        try:
            self._authorizer.guard(self._connection)
            cursor = self._connection.execute(statement, parameters)
        except (sqlite3.Error, sqlite3.Warning) as error:
            self._explain(error)
            self._authorizer.explain(error)
            raise SqlError(str(error), self.views) from error
        self._authorizer.require_views_only(statement)
        columns = tuple(column[0] for column in cursor.description or ())
        return Selected(columns, self._rows(cursor))

    def close(self) -> None:
        """Give the connection back."""
        self._connection.close()

    def _rows(self, cursor: sqlite3.Cursor) -> Iterator[tuple[Any, ...]]:
        try:
            for row in cursor:  # noqa: UP028  (it would close the cursor, after the connection too)
                yield row
        except sqlite3.Error as error:
            self._explain(error)
            raise VerdictError(str(error)) from error

    def _is_late(self) -> bool:
        """Tell SQLite, which asks during a query, whether to end it."""
        return time.monotonic() > self._until

    def _explain(self, error: sqlite3.Error | sqlite3.Warning) -> None:
        """Raise the reason if a query was ended, or the file is damaged."""
        if is_damaged(error):
            raise VerdictError(f"the database is damaged ({error}): {A_SOUND_COPY}") from error
        if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_INTERRUPT:
            return
        if self._is_late():
            raise VerdictError(
                f"the query was ended after {self._timeout_s:g} s: ask for less of it, or raise "
                "the setting sql_timeout_s"
            ) from error
        raise KeyboardInterrupt from error


def views_made_in(path: Path) -> list[str]:
    """Return the names of the views that verdict made in a file, sorted."""
    with _reading(path) as connection, closing(connection):
        connection.execute(OURS)
        return [name for (name,) in connection.execute(MADE)]


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Give a connection that reads a file; it is for the caller to close."""
    try:
        yield sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None)
    except sqlite3.DatabaseError as error:
        # also on a full disk
        io_failed = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_IOERR
        advice = (
            "see that its disk works, and has room"
            if io_failed
            else "is it the right data directory, and did `verdict up` start once?"
        )
        raise UnreachableError(f"no read side can be read at {path} ({error}): {advice}") from error


class _Authorizer:
    """SQLite asks it about everything that a statement touches, before the statement runs.

    SQLite names the view through which a table is read, but also a CTE of the same name. So no
    statement may name a table at all: then only views read tables.
    """

    def __init__(self, views: Sequence[str], masked: bool) -> None:
        self._views = frozenset(views)
        self._masked = masked
        self._refused = ""
        self._raised: BaseException | None = None
        self._tables: set[str] = set()
        self._closed: set[str] = set()

    def guard(self, connection: sqlite3.Connection) -> None:
        """Guard `connection` from now on, with the tables and views that exist now."""
        connection.set_authorizer(None)
        there = [*connection.execute(THERE)]
        self._tables = {name for kind, name in there if kind == "table"}
        modules = {name for (name,) in connection.execute(MODULES)} - TABLE_FUNCTIONS
        self._closed = {name for _, name in there}.union(modules) - self._views
        self._refused = ""
        connection.set_authorizer(self._ask)

    def explain(self, error: Exception) -> None:
        """Raise what was refused, or what was raised here, such as Ctrl-C."""
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised from error
        if self._refused:
            raise NotAllowedError(self._refused) from error

    def require_views_only(self, statement: str) -> None:
        """Return if a statement names no table."""
        words = {*re.findall(r"\w+", statement.lower())}
        for table in self._tables:
            if table.lower() in words:
                raise NotAllowedError(f"table {table}")

    def _ask(self, action: int, first: Any, second: Any, database: Any, through: Any) -> int:
        try:
            allowed = self._allows(action, first, second, through)
        except BaseException as error:  # the driver would take it for a no
            self._raised = error
            return sqlite3.SQLITE_DENY
        if not allowed:
            self._refused = self._refused or _named(action, first, second)
            return sqlite3.SQLITE_DENY
        hidden = self._masked and action == sqlite3.SQLITE_READ and is_masked(first, second)
        return sqlite3.SQLITE_IGNORE if hidden else sqlite3.SQLITE_OK

    def _allows(self, action: int, first: Any, second: Any, through: Any) -> bool:
        if action == sqlite3.SQLITE_READ:
            return self._readable(first, second, through)
        if action == sqlite3.SQLITE_FUNCTION:
            return bool(second != REFUSED_FUNCTION)
        # SQLite reports the declaration of a table function so; the file is read-only
        declares = action == sqlite3.SQLITE_UPDATE and first == SCHEMA
        return declares or action in ALLOWED

    def _readable(self, relation: str, column: str, through: str | None) -> bool:
        if relation in self._tables:
            return through in self._views or not column  # no column: to count a view's rows
        ours = relation in self._closed or relation.startswith(OF_SQLITE)
        return not ours or (relation, column) == (SCHEMA, "ROWID")


def is_masked(table: str, column: str) -> bool:
    """Tell whether a column is NULL for those who may not see personal fields."""
    return column.startswith(PERSONAL) or (column == WHOLE_EVENT and table.startswith(ARCHIVE))


def _named(action: int, first: Any, second: Any) -> str:
    if action == sqlite3.SQLITE_READ:
        return f"table {first}"
    if action == sqlite3.SQLITE_FUNCTION:
        return f"function {second}"
    return f"{STATEMENTS.get(action, 'more than SELECT')} {first or ''}".rstrip()

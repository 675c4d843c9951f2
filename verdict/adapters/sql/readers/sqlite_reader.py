"""Reads the views of a SQLite file, guarded by an authorizer, as SQLite has no roles."""

import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
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
        self._gate = _Authorizer(views, masked)
        self._watch = _QueryTimeout(timeout_s)
        with _reading(path) as connection:
            self._connection = connection
            connection.set_progress_handler(self._watch.look, STEPS)
            self._gate.learn(connection)

    def select(self, statement: str, parameters: Parameters) -> Selected:
        """Run one SELECT."""
        while True:
            self._watch.begin()
            schema = self._schema()
            self._gate.learn(self._connection)  # a view may show another version now
            try:
                with self._gate.raising():
                    cursor = self._connection.execute(statement, parameters)
                self._gate.require_views_only(statement)
                break
            except (sqlite3.Error, sqlite3.Warning) as error:
                self._watch.explain(error)
                if self._schema() != schema:
                    continue  # a view was put on other tables meanwhile
                if self._gate.refused:
                    raise NotAllowedError(self._gate.refused) from error
                raise SqlError(str(error), self._gate.views) from error
        columns = tuple(column[0] for column in cursor.description or ())
        return Selected(columns, self._rows(cursor))

    def _rows(self, cursor: sqlite3.Cursor) -> Iterator[tuple[Any, ...]]:
        try:
            for row in cursor:  # noqa: UP028  (it would close the cursor, after the connection too)
                yield row
        except sqlite3.Error as error:
            self._watch.explain(error)
            raise VerdictError(str(error)) from error

    def _schema(self) -> int:
        """Return a number that changes whenever a table or view does."""
        self._connection.set_authorizer(None)
        (number,) = self._connection.execute("PRAGMA schema_version").fetchone()
        return int(number)

    def close(self) -> None:
        """Give the connection back."""
        self._connection.close()


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


class _QueryTimeout:
    """SQLite asks it during a query whether to go on."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self.begin()

    def begin(self) -> None:
        """Count the time from now on."""
        self._until = time.monotonic() + self._timeout_s
        self._late = False

    def look(self) -> bool:
        """Return whether to end the query."""
        self._late = time.monotonic() > self._until
        return self._late

    def explain(self, error: sqlite3.Error | sqlite3.Warning) -> None:
        """Raise the reason if a query was ended, or the file is damaged."""
        if is_damaged(error):
            raise VerdictError(f"the database is damaged ({error}): {A_SOUND_COPY}") from error
        if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_INTERRUPT:
            return
        if self._late:
            raise VerdictError(
                f"the query was ended after {self._timeout_s:g} s: ask for less of it, or raise "
                "the setting sql_timeout_s"
            ) from error
        raise KeyboardInterrupt from error


class _Authorizer:
    """SQLite asks it about everything that a statement touches, before the statement runs.

    SQLite names the view through which a table is read, but also a CTE of the same name. So no
    statement may name a table at all: then only views read tables.
    """

    def __init__(self, views: Sequence[str], masked: bool) -> None:
        self.views = tuple(views)
        self._masked = masked
        self.refused = ""
        self._raised: BaseException | None = None
        self._behind: set[tuple[str | None, str | None]] = set()
        self._tables: set[str] = set()
        self._closed: set[str] = set()

    def learn(self, connection: sqlite3.Connection) -> None:
        """Find out what the views read, and guard `connection` from then on.

        Some views may be missing, if the service has not started since a projection was added.
        """
        connection.set_authorizer(None)
        there = [*connection.execute(THERE)]
        views = {name for kind, name in there if kind == "view"}
        self._tables = {name for kind, name in there if kind == "table"}
        modules = {name for (name,) in connection.execute(MODULES)} - TABLE_FUNCTIONS
        self._closed = {*self._tables, *views.difference(self.views), *modules}
        self._behind.clear()
        connection.set_authorizer(self._kept(self._note))
        with self.raising():
            for view in views.intersection(self.views) or self.views[:1]:
                connection.execute(f'SELECT * FROM "{view}" LIMIT 0').close()
        self.refused = ""
        connection.set_authorizer(self._kept(self._decide))

    @contextmanager
    def raising(self) -> Iterator[None]:
        """Raise what was raised in the authorizer, such as Ctrl-C: the driver takes it for a no."""
        try:
            yield
        except sqlite3.Error as error:
            raised, self._raised = self._raised, None
            if raised is not None:
                raise raised from error
            raise

    def _kept(self, ask: Callable[..., int]) -> Callable[..., int]:
        def asked(*about: Any) -> int:
            try:
                return ask(*about)
            except BaseException as error:
                self._raised = error
                return sqlite3.SQLITE_DENY

        return asked

    def require_views_only(self, statement: str) -> None:
        """Return if a statement names no table."""
        words = {*re.findall(r"\w+", statement.lower())}
        for table in self._tables:
            if table.lower() in words:
                raise NotAllowedError(f"table {table}")

    def _note(self, action: int, first: Any, second: Any, database: Any, through: Any) -> int:
        if action == sqlite3.SQLITE_READ and through in self.views:
            self._behind |= {(first, second), (first, "")}  # counting rows names no column
        return sqlite3.SQLITE_OK

    def _decide(self, action: int, first: Any, second: Any, database: Any, through: Any) -> int:
        if (
            action in ALLOWED
            or (action == sqlite3.SQLITE_FUNCTION and second != REFUSED_FUNCTION)
            or (action == sqlite3.SQLITE_READ and self._readable(first, second))
            # SQLite reports the declaration of a table function so; the file is read-only
            or (action == sqlite3.SQLITE_UPDATE and first == SCHEMA)
        ):
            return (
                sqlite3.SQLITE_IGNORE if self._hides(action, first, second) else sqlite3.SQLITE_OK
            )
        self.refused = self.refused or _named(action, first, second)
        return sqlite3.SQLITE_DENY

    def _hides(self, action: int, relation: Any, column: Any) -> bool:
        """Tell whether a column shows as NULL."""
        reads = action == sqlite3.SQLITE_READ
        return self._masked and reads and is_masked(str(relation), str(column))

    def _readable(self, relation: str, column: str) -> bool:
        """Tell whether a view reads this, or the statement itself makes it."""
        if (relation, column) in self._behind or (relation, column) == (SCHEMA, "ROWID"):
            return True
        return relation not in self._closed and not relation.startswith(OF_SQLITE)


def is_masked(table: str, column: str) -> bool:
    """Tell whether a column is NULL for those who may not see personal fields."""
    return column.startswith(PERSONAL) or (column == WHOLE_EVENT and table.startswith(ARCHIVE))


def _named(action: int, first: Any, second: Any) -> str:
    if action == sqlite3.SQLITE_READ:
        return f"table {first}"
    if action == sqlite3.SQLITE_FUNCTION:
        return f"function {second}"
    return f"{STATEMENTS.get(action, 'more than SELECT')} {first or ''}".rstrip()

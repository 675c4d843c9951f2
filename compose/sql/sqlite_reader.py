"""Reads the views of a SQLite file, guarded by its authorizer, as SQLite has no roles."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from compose.errors import Unreachable, VerdictError
from compose.sql.selected import NotForReaders, Parameters, Selected

ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE}
REFUSED_FUNCTIONS = {"load_extension"}
STATEMENTS = {
    sqlite3.SQLITE_ATTACH: "ATTACH",
    sqlite3.SQLITE_DETACH: "DETACH",
    sqlite3.SQLITE_PRAGMA: "PRAGMA",
    sqlite3.SQLITE_INSERT: "INSERT",
    sqlite3.SQLITE_UPDATE: "UPDATE",
    sqlite3.SQLITE_DELETE: "DELETE",
    sqlite3.SQLITE_TRANSACTION: "a transaction",
}
VIEWS_THERE = "SELECT name FROM sqlite_master WHERE type = 'view'"


class SqliteReader:
    """A read-only connection for one thread."""

    def __init__(self, path: Path, views: Sequence[str]) -> None:
        """Open the file at `path` for reading `views`.

        Raises:
            Unreachable: There is no such database.
        """
        self._gate = _Gate(views)
        try:
            self._connection = sqlite3.connect(
                f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None
            )
            self._gate.learn(self._connection)
        except sqlite3.DatabaseError as error:
            raise Unreachable(
                f"no read side can be read at {path} ({error}): is it the right data "
                "directory, and did `verdict up` start once?"
            ) from error

    def select(self, statement: str, parameters: Parameters) -> Selected:
        """Run one SELECT.

        Raises:
            NotForReaders: It touches more than the views.
            VerdictError: It is no SQL, or names what does not exist.
        """
        while True:
            schema = self._schema()
            self._gate.learn(self._connection)  # a view may show another version meanwhile
            try:
                cursor = self._connection.execute(statement, parameters)
                break
            except (sqlite3.Error, sqlite3.Warning) as error:
                if self._schema() != schema:
                    continue  # a view was put on other tables right behind the gate's back
                if self._gate.refused:
                    raise NotForReaders(self._gate.refused, self._gate.views) from error
                raise VerdictError(
                    f"{error}; the views are {', '.join(self._gate.views)}"
                ) from error
        return Selected(tuple(column[0] for column in cursor.description or ()), cursor)

    def _schema(self) -> int:
        """Return a number that changes whenever a table or view does."""
        self._connection.set_authorizer(None)
        (number,) = self._connection.execute("PRAGMA schema_version").fetchone()
        return int(number)

    def close(self) -> None:
        """Give the connection back."""
        self._connection.close()


class _Gate:
    """Asked by SQLite about everything that a statement would touch, before it runs.

    SQLite names the view through which a table is read, but takes a CTE of that name for it too.
    So a table's column may be read through a view only where that view itself reads it.
    """

    def __init__(self, views: Sequence[str]) -> None:
        self.views = tuple(views)
        self.refused = ""
        self._behind: set[tuple[str | None, str | None, str | None]] = set()
        self._tables: set[str | None] = set()

    def learn(self, connection: sqlite3.Connection) -> None:
        """Find out what the views read, and guard `connection` from then on.

        A view may be missing: the service has not started since a projection was added.

        Raises:
            DatabaseError: None is there.
        """
        connection.set_authorizer(None)
        there = {name for (name,) in connection.execute(VIEWS_THERE)}
        self._behind.clear()
        connection.set_authorizer(self._note)
        for view in there.intersection(self.views) or self.views[:1]:
            connection.execute(f'SELECT * FROM "{view}" LIMIT 0').close()
        self._tables = {table for _, table, _ in self._behind}
        self.refused = ""
        connection.set_authorizer(self._decide)

    def _note(self, action: int, first: Any, second: Any, database: Any, through: Any) -> int:
        if action == sqlite3.SQLITE_READ and through in self.views:
            self._behind.add((through, first, second))
        return sqlite3.SQLITE_OK

    def _decide(self, action: int, first: Any, second: Any, database: Any, through: Any) -> int:
        if (
            action in ALLOWED
            or (action == sqlite3.SQLITE_FUNCTION and second not in REFUSED_FUNCTIONS)
            or (action == sqlite3.SQLITE_READ and self._readable(first, second, through))
        ):
            return sqlite3.SQLITE_OK
        self.refused = self.refused or _named(action, first, second)
        return sqlite3.SQLITE_DENY

    def _readable(self, table: Any, column: Any, through: Any) -> bool:
        if table in self.views or (through, table, column) in self._behind:
            return True
        return column == "" and table in self._tables  # counting rows names no column


def _named(action: int, first: Any, second: Any) -> str:
    if action == sqlite3.SQLITE_READ:
        return f"table {first}"
    if action == sqlite3.SQLITE_FUNCTION:
        return f"function {second}"
    if action == sqlite3.SQLITE_UPDATE and first == "sqlite_master":
        return "a table function"
    return f"{STATEMENTS.get(action, 'more than SELECT')} {first or ''}".rstrip()

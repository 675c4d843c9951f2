"""Reads the views on PostgreSQL, in a role that can select them and nothing else.

This prevents mistakes. It does not confine somebody who knows the service's own password, as a
session can reset its role: give people their own logins, as members of the role.
"""

import re
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import psycopg
from psycopg import sql
from psycopg.errors import (
    InsufficientPrivilege,
    InvalidParameterValue,
    QueryCanceled,
    ReadOnlySqlTransaction,
)
from psycopg.errors import SyntaxError as NoSql
from sqlalchemy import URL

from verdict.adapters.sql import session
from verdict.adapters.sql.readers.selected import (
    NotAllowedError,
    Parameters,
    RoleMissingError,
    Selected,
    SqlError,
)
from verdict.adapters.sql.session import TABLES, VIEWS
from verdict.adapters.sql.sqlite_file import one_line_error
from verdict.errors import UnreachableError, VerdictError
from verdict.settings.database_address import masked_url

CHUNK_ROWS = 1000
READING = {"SELECT", "WITH", "VALUES", "TABLE", "EXPLAIN"}
FIRST_WORD = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*(\w*)", re.DOTALL)
MADE = """\
SELECT viewname FROM pg_views WHERE schemaname = %s AND viewowner IN (
  SELECT tableowner FROM pg_tables WHERE schemaname = %s) ORDER BY 1"""

UNQUOTED_OFFSET = re.compile(r'(?<!")\boffset\b', re.IGNORECASE)


class PostgresqlReader:
    """A connection for one thread that reads; each statement in a transaction of its own.

    It ends before the last row is handed over: an open one would keep the views from being
    replaced, and old rows from being vacuumed.
    """

    def __init__(
        self,
        url: URL,
        views: Sequence[str] | None,
        role: str,
        timeout_s: float,
        closed: Container[str] = (),
    ) -> None:
        """Connect as `role`; views that are None are all that verdict made but `closed`."""
        self._shown = masked_url(url)
        self._timeout_s = timeout_s
        self._rows: Iterator[tuple[Any, ...]] | None = None
        self._role = role
        self._begin = sql.SQL(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "
            "SET LOCAL ROLE {}; SET LOCAL statement_timeout TO {}; {}"
        ).format(
            sql.Identifier(role),
            sql.Literal(f"{timeout_s * 1000:.0f}ms"),
            sql.SQL(session.pinned(VIEWS)),
        )
        options: dict[str, Any] = dict(url.get_dialect()().create_connect_args(url)[1])
        options |= dict(session.options(url), autocommit=True)
        try:
            self._connection = psycopg.connect(**options)
        except psycopg.OperationalError as error:
            raise UnreachableError(f"{self._shown}: {one_line_error(error)}") from error
        try:
            self._connection.execute(self._begin)
            if views is None:
                made = self._connection.execute(MADE, [VIEWS, TABLES])
                views = [name for (name,) in made if name not in closed]
            self.views = tuple(views)
            self._end()
        except (InsufficientPrivilege, InvalidParameterValue) as error:
            self.close()
            raise RoleMissingError(self._shown, role, error.diag.message_primary) from error

    def select(self, statement: str, parameters: Parameters) -> Selected:
        """Run one SELECT."""
        match = FIRST_WORD.match(statement)
        word = match[1] if match else ""
        if word.upper() not in READING:
            raise NotAllowedError(word or "nothing")
        try:
            self._end()
            self._connection.execute(self._begin)
            cursor = self._connection.cursor()
            query = _for_driver(statement, parameters)
            chunk = CHUNK_ROWS if psycopg.capabilities.has_stream_chunked() else 1
            stream = cursor.stream(*query, size=chunk)  # unlike `execute`, one statement only
            first = next(stream, None)
            self._rows = stream
            if first is None:  # a stream of no rows does not say their columns
                cursor.execute(*query, binary=True)
                self._end()
        except psycopg.Error as error:
            raise self._for_people(error, statement) from error
        columns = tuple(column.name for column in cursor.description or ())
        return Selected(columns, self._plain(first, stream))

    def close(self) -> None:
        """Give the connection back."""
        self._connection.close()

    def _plain(
        self, first: tuple[Any, ...] | None, rest: Iterator[tuple[Any, ...]]
    ) -> Iterator[tuple[Any, ...]]:
        try:
            row = first
            while row is not None and self._rows is rest:  # else another statement was run
                following = next(rest, None)
                if following is None:
                    self._end()
                yield tuple(map(_plain, row))
                row = following
        except psycopg.Error as error:
            raise self._for_people(error) from error

    def _end(self) -> None:
        if self._rows is not None:
            self._rows.close()  # type: ignore[attr-defined]  # a generator, which cancels the query
            self._rows = None
        self._connection.execute("ROLLBACK")

    def _for_people(self, error: psycopg.Error, statement: str = "") -> VerdictError:
        with suppress(psycopg.OperationalError):  # the connection is gone, as `error` says
            self._end()
        said = error.diag.message_primary or one_line_error(error)
        if isinstance(error, InsufficientPrivilege):
            return NotAllowedError(said.removeprefix("permission denied for "))
        if isinstance(error, ReadOnlySqlTransaction):
            wanted = said.removeprefix("cannot execute ")
            return NotAllowedError(wanted.removesuffix(" in a read-only transaction"))
        if isinstance(error, QueryCanceled):
            return VerdictError(
                f"{said}: a query may take {self._timeout_s:g} s: ask for less of it, or raise the "
                "setting sql_timeout_s"
            )
        if isinstance(error, psycopg.OperationalError) and self._connection.broken:
            return UnreachableError(f"{self._shown}: {one_line_error(error)}")
        if isinstance(error, NoSql) and UNQUOTED_OFFSET.search(statement):
            return VerdictError(f'{said}: PostgreSQL wants the column "offset" in double quotes')
        return SqlError(said, self.views)


def _for_driver(statement: str, parameters: Parameters) -> tuple[Any, ...]:
    """Replace `?` and `:name` by the driver's own placeholders."""
    if not parameters:
        return (statement,)
    escaped = statement.replace("%", "%%")
    if isinstance(parameters, dict):
        return re.sub(r"(?<![:\w]):(\w+)", r"%(\1)s", escaped), parameters
    return escaped.replace("?", "%s"), parameters


def _plain(value: Any) -> Any:
    """Return a value as SQLite would have it."""
    if value is None or type(value) in (str, int, float, bytes):
        return value
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, datetime) and value.tzinfo:
        text = value.astimezone(UTC).isoformat(timespec="milliseconds")
        return text.replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value if isinstance(value, list | dict) else str(value)

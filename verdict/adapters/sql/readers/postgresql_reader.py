"""Reads the views on PostgreSQL, in the role of readers, which can select them and nothing else.

`select` keeps mistakes out. It does not lock up somebody who knows the service's own password, as
a session may put its role off: give people a login of their own that is a member of the role.
`confined` does, for people who know no password: see `verdict.read_side.schema.reader_role`.
"""

import re
from collections.abc import Iterator, Sequence
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
    UndefinedTable,
)
from psycopg.errors import SyntaxError as NoSql
from psycopg.pq import ExecStatus
from sqlalchemy import URL

from verdict.adapters.sql import session
from verdict.adapters.sql.readers.limited import CELL
from verdict.adapters.sql.readers.selected import (
    NotAllowedError,
    Parameters,
    RoleMissingError,
    Selected,
    SqlError,
)
from verdict.adapters.sql.schema_names import TABLES, VIEWS
from verdict.errors import UnreachableError, VerdictError
from verdict.settings.database_address import masked_url, one_line_error

CHUNK_ROWS = 1000
READING = {"SELECT", "WITH", "VALUES", "TABLE", "EXPLAIN"}
FIRST_WORD = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*(\w*)", re.DOTALL)
TYPES = """\
SELECT CASE WHEN typlen >= 0 AND typtype <> 'p' THEN format_type(pg_type.oid, NULL) ELSE 'text' END
FROM unnest(%s::oid[]) WITH ORDINALITY AS asked(oid, n) JOIN pg_type USING (oid) ORDER BY n"""

UNQUOTED_OFFSET = re.compile(r'(?<!")\boffset\b', re.IGNORECASE)


class PostgresqlReader:
    """A connection for one thread that reads; each statement in a transaction of its own.

    It ends before the last row is handed over: one that stayed open would keep the views from being
    replaced, and the server from cleaning up behind the projections, for as long as nobody asks
    anything else.
    """

    def __init__(self, url: URL, views: Sequence[str], role: str, timeout_s: float) -> None:
        """Connect to the database at `url` for reading `views` as `role`.

        Raises:
            UnreachableError: It does not let us in.
            RoleMissingError: There is no such role, or the user is not a member of it.
        """
        self._shown = masked_url(url)
        self._views = tuple(views)
        self._timeout_s = timeout_s
        self._rows: Iterator[tuple[Any, ...]] | None = None
        self._role = role
        self._function = f"{TABLES}.{sql.Identifier(role).as_string()}"
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
            self._end()
        except (InsufficientPrivilege, InvalidParameterValue) as error:
            self.close()
            raise RoleMissingError(self._shown, role, error.diag.message_primary) from error

    def select(self, statement: str, parameters: Parameters) -> Selected:
        """Run one SELECT.

        Raises:
            NotAllowedError: It touches more than the views.
            VerdictError: It is no SQL, names what does not exist, or takes more than a minute.
            UnreachableError: The database went away.
        """
        self._allowed(statement)
        try:
            self._end()
            self._connection.execute(self._begin)
            cursor = self._connection.cursor()
            # unlike `execute`, it takes one statement only
            query = _for_driver(statement, parameters)
            stream = cursor.stream(*query, size=_chunk())
            first = next(stream, None)
            self._rows = stream
            if first is None:  # a stream of no rows does not say their columns
                cursor.execute(*query, binary=True)
                self._end()
        except psycopg.Error as error:
            raise self._for_people(error, statement) from error
        columns = tuple(column.name for column in cursor.description or ())
        return Selected(columns, self._plain(first, stream))

    def confined(self, statement: str, most: int) -> Selected:
        """Run one SELECT as the role, which it cannot put off, for its first rows; as `select`.

        The server cuts values, so that none is large here.
        """
        word = self._allowed(statement)
        try:
            columns, types = self._described(statement)
            query = statement if word == "EXPLAIN" else _cut(statement, types, most)
            listed = ", ".join(f"c{n} {one}" for n, one in enumerate(types))
            call = f"SELECT * FROM {self._function}(%s) AS t({listed})"
            rows = self._connection.cursor().stream(call.encode(), [query])
            self._rows, first = rows, next(rows, None)
        except psycopg.Error as error:
            raise self._for_people(error, statement) from error
        return Selected(columns, self._plain(first, rows))

    def _described(self, statement: str) -> tuple[tuple[str, ...], list[str]]:
        """Return the columns of a statement and their types, without running it."""
        self._end()
        self._connection.execute(self._begin)
        server = self._connection.pgconn
        for said in (server.prepare(b"", statement.encode()), server.describe_prepared(b"")):
            if said.status != ExecStatus.COMMAND_OK:
                raise psycopg.errors.error_from_result(said)
        fields = range(said.nfields)
        types = self._connection.execute(TYPES, [[said.ftype(one) for one in fields]]).fetchall()
        self._connection.execute("SET LOCAL ROLE NONE")
        return tuple((said.fname(one) or b"").decode() for one in fields), [one for (one,) in types]

    def _allowed(self, statement: str) -> str:
        """Return the first word, in capitals, of a statement that reads.

        Raises:
            NotAllowedError: It does not.
        """
        match = FIRST_WORD.match(statement)
        word = match[1] if match else ""
        if word.upper() not in READING:
            raise NotAllowedError(word or "nothing")
        return word.upper()

    def close(self) -> None:
        """Give the connection back."""
        self._connection.close()

    def _plain(
        self, first: tuple[Any, ...] | None, rest: Iterator[tuple[Any, ...]]
    ) -> Iterator[tuple[Any, ...]]:
        try:
            row = first
            while row is not None and self._rows is rest:  # else of a statement before the last
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
            return self._lost(said) or _not_allowed(said, statement)
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
        if isinstance(error, UndefinedTable) and (table := self._table(said)):
            return NotAllowedError(f"table {table}")
        if isinstance(error, NoSql) and UNQUOTED_OFFSET.search(statement):
            return VerdictError(f'{said}: PostgreSQL wants the column "offset" in double quotes')
        return SqlError(said, self._views)

    def _lost(self, said: str) -> VerdictError | None:
        """Return what is told of a view that readers are meant to read, and may not any more."""
        wanted = said.rpartition(" ")[2]
        may = "SELECT has_table_privilege(%s, %s, 'SELECT')"
        if wanted not in self._views or self._one(may, self._role, wanted):
            return None
        return VerdictError(
            f"{said}: the role of readers has lost that right, the next start of `verdict up` "
            "gives it back"
        )

    def _table(self, said: str) -> str | None:
        """Return the table of ours that a message is about, which readers cannot see."""
        named = re.search(r'"(?:\w+\.)?(\w+)"', said)
        known = "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename = %s"
        found = self._one(known, TABLES, named and named[1])
        return found and str(found)

    def _one(self, statement: str, *parameters: Any) -> Any:
        """Return the only value that a question of ours has for an answer, None for none."""
        found = self._connection.execute(statement, parameters).fetchone()
        return found and found[0]


def _not_allowed(said: str, statement: str) -> VerdictError:
    """Return why a right is missing: who asks lacks it, or the owner of a view does."""
    wanted = said.rpartition(" ")[2].lower()
    if not statement or wanted in statement.lower():
        return NotAllowedError(said.removeprefix("permission denied for "))
    return VerdictError(
        f"{said}, and the view that is asked for needs it: its owner, whom verdict writes as, has "
        "lost that right; let an administrator give it back with GRANT"
    )


def _cut(statement: str, types: Sequence[str], most: int) -> str:
    """Return a SELECT of the first rows of another, in which no value is large."""
    names = [f"c{number}" for number in range(len(types))]
    values = ", ".join(
        f"left({name}::text, {CELL + 1})" if type_ == "text" else name
        for name, type_ in zip(names, types, strict=True)
    )
    asked = statement.rstrip().removesuffix(";")
    return f"SELECT {values} FROM (\n{asked}\n) AS t({', '.join(names)}) LIMIT {most}"


def _chunk() -> int:
    return CHUNK_ROWS if psycopg.capabilities.has_stream_chunked() else 1


def _for_driver(statement: str, parameters: Parameters) -> tuple[Any, ...]:
    """Return the statement with `?` and `:name` as the driver wants them, and the parameters."""
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

"""The read side's database: SQLite in the data directory, or PostgreSQL by URL.

On SQLite transactions take the write lock at once: one that began by reading would fail, without
waiting, when another writes. WAL lets readers see the last commit meanwhile. `synchronous=FULL`
syncs each commit: else a change feed could give its numbers to other changes after a power loss.
"""

import logging
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError, DBAPIError, ProgrammingError

from verdict.adapters.sql import session, sqlite_file
from verdict.adapters.sql.session import TABLES, VIEWS
from verdict.adapters.sql.sqlite_file import one_line_error
from verdict.adapters.sql.statements import exclude_others
from verdict.errors import UnreachableError, VerdictError
from verdict.read_side.apply.applier import database_failed
from verdict.read_side.projections.projection import Projection
from verdict.read_side.schema import creation, migrations, reader_role
from verdict.read_side.schema.layout import UnsuitableDatabaseError
from verdict.read_side.schema.system_views import readable
from verdict.read_side.tables import versions
from verdict.settings.database_address import (
    ROLES,
    Roles,
    driver_missing,
    is_sqlite,
    masked_url,
    parse,
)

LOG = logging.getLogger("verdict.adapters.sql")
WAIT_FOR_LOCK_S = 30  # then it is reported, and tried again
READING = "verdict_reading"  # an option of our connections
OPENED = "verdict_opened"  # an option of our engines
INSUFFICIENT_PRIVILEGE = "42501"
UNDEFINED_TABLE = "42P01"


def open_database(url: str) -> Engine:
    """Connect to the database that projections are written to.

    Raises:
        VerdictError: The URL is not one of these, the database cannot keep every text, or a newer
            version of verdict has changed it.
        EnvironmentIncompleteError: The driver of the database is not installed.
        UnreachableError: The database does not admit this login.
    """
    parsed = parse(url)
    try:
        engine = _sqlite(parsed) if is_sqlite(parsed) else _postgresql(parsed)
        try:
            _require_utf8(engine)
            _bring_forward(engine)
        except BaseException:
            engine.dispose()
            raise
        return engine
    except ModuleNotFoundError as error:
        raise driver_missing(parsed, error) from error
    except DatabaseError as error:
        if getattr(error.orig, "sqlstate", None) == UNDEFINED_TABLE:  # one that is there
            raise VerdictError(
                f"{masked_url(parsed)}: this login may not use the schema {TABLES} of the tables: "
                "name the login of `verdict up` for what writes, one in the role of readers for "
                "what reads, or let an administrator GRANT it"
            ) from error
        raise UnreachableError(f"{masked_url(parsed)}: {one_line_error(error.orig)}") from error


def _bring_forward(engine: Engine) -> None:
    with failing_in_words(engine):
        with snapshot(engine) as connection:
            if not migrations.is_behind(connection):
                return
        with engine.begin() as connection:
            exclude_others(connection, "creation")
            migrations.bring_forward(connection)


@contextmanager
def opened(url: str) -> Iterator[Engine]:
    """Connect as `open_database` does, and disconnect after the block."""
    engine = open_database(url)
    try:
        yield engine
    finally:
        engine.dispose()


def create_read_side(
    engine: Engine, projections: Sequence[Projection], roles: Roles = ROLES
) -> None:
    """Create missing tables and views, all or none, and the roles of readers.

    If the roles need an administrator, this logs a warning and continues.
    """
    try:
        with failing_in_words(engine), engine.begin() as connection:
            creation.create(connection, projections)
            missing = reader_role.grant_readers(connection, roles, readable(projections))
    except ProgrammingError as error:
        if getattr(error.orig, "sqlstate", None) != INSUFFICIENT_PRIVILEGE:
            raise
        raise VerdictError(
            f"{masked_url(engine.url)}: {one_line_error(error.orig)}; the user needs CREATE on "
            f"the database and on the schema {VIEWS}: let it own the database, or "
            f"GRANT CREATE ON DATABASE {engine.url.database} and GRANT CREATE ON SCHEMA {VIEWS}"
        ) from error
    if missing:
        LOG.warning(
            "readers have no access to the views of %s yet, all else works: let an administrator "
            "run `%s`, then start again",
            masked_url(engine.url), missing,
        )  # fmt: skip


def check_built(engine: Engine, projections: Sequence[Projection]) -> None:
    """Return unless all projections with some settings were built with other ones.

    If some fit, an operator is promoting them one after the other: the appliers stop the others.
    """
    with failing_in_words(engine), engine.connect() as connection:
        found = {one.name: versions.of(connection, one).settings for one in projections}
    known = {one.settings for one in projections if found[one.name] == one.settings}
    chosen = [one for one in projections if not one.settings.startswith(versions.COLUMNS)]
    foreign = [one for one in chosen if one.settings not in known]
    if not foreign:
        return
    were = ", ".join(f"{one.name} v{one.version} with {found[one.name]!r}" for one in foreign)
    raise VerdictError(
        f"nothing was built with {foreign[0].settings!r}, which is configured now: {were}; set it "
        "back and start again; with that running, and the new one set where you type, `verdict "
        "projection rebuild` and then `verdict projection promote --accept-differences` "
        f"{', '.join(one.name for one in foreign)}, and start again with the new one"
    )


@contextmanager
def failing_in_words(engine: Engine) -> Iterator[None]:
    """Translate failures of the database; a refused statement, which is a bug, passes.

    Raises:
        UnreachableError: It went away, is locked, or read-only after a failover.
        VerdictError: A newer version of verdict has changed it, or a name that we need is taken.
    """
    try:
        yield
    except UnsuitableDatabaseError as error:
        raise VerdictError(f"{masked_url(engine.url)}: {error}") from error
    except DBAPIError as error:
        if not database_failed(error):
            raise
        raise UnreachableError(f"{masked_url(engine.url)}: {one_line_error(error.orig)}") from error


def live_versions(engine: Engine) -> Mapping[str, int]:
    """Return the version that readers see, by projection; a new read side has none."""
    with failing_in_words(engine), engine.begin() as connection:
        return versions.all_live(connection)


def require_same_database(engine: Engine) -> None:
    """Return if the database's file was neither removed nor replaced since it was opened."""
    file: sqlite_file.OpenedFile | None = engine.get_execution_options().get(OPENED)
    if file is not None:
        file.check()


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """Give a connection that reads one state, that of its first read, and blocks no writer."""
    reading = {READING: True} if is_sqlite(engine.url) else {"isolation_level": "REPEATABLE READ"}
    with engine.connect().execution_options(**reading) as connection:
        yield connection


def _sqlite(url: URL) -> Engine:
    if not url.database or url.database == ":memory:":
        raise VerdictError("the read side needs a file, as readers open it too: sqlite:////path")
    path = Path(url.database).absolute()
    sqlite_file.create(path)
    options = {OPENED: sqlite_file.OpenedFile(path)}
    engine = create_engine(
        url,
        connect_args={"timeout": WAIT_FOR_LOCK_S},
        execution_options=options,
        hide_parameters=True,  # no rows in errors that people may read
    )
    # or a new connection would make an empty file
    event.listen(engine, "do_connect", lambda *_: require_same_database(engine))
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin_immediate)
    return engine


def _postgresql(url: URL) -> Engine:
    # a statement waits for a locked row, sees it as it is then, and does not fail
    engine = create_engine(
        url,
        isolation_level="READ COMMITTED",
        connect_args=session.options(url),
        hide_parameters=True,  # as above
    )
    event.listen(engine, "begin", _pin)
    return engine


def _pin(connection: Connection) -> None:
    patience = f"SET LOCAL lock_timeout TO '{WAIT_FOR_LOCK_S}s'"  # else it waits without end
    connection.exec_driver_sql(f"{session.pinned(TABLES, VIEWS)}; {patience}")


def _require_utf8(engine: Engine) -> None:
    with engine.connect() as connection:
        if is_sqlite(engine.url):
            return
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar()
    if encoding != session.ENCODING:
        raise VerdictError(
            f"{masked_url(engine.url)} is encoded in {encoding}, which lacks characters that "
            f"events may have: create a database with CREATE DATABASE … ENCODING "
            f"'{session.ENCODING}' TEMPLATE template0 and give its URL"
        )


def _prepare(connection: sqlite3.Connection, record: Any) -> None:
    connection.isolation_level = None  # the driver begins no transaction by itself
    connection.execute(sqlite_file.WAL)  # a file that somebody else made may have another mode
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA cache_size=-131072")  # KiB; 2 MiB makes every index page a read
    # pages, 64 MB: a page that many batches change is copied once for all of them
    connection.execute("PRAGMA wal_autocheckpoint=16000")


def _begin_immediate(connection: Connection) -> None:
    require_same_database(connection.engine)
    reading = connection.get_execution_options().get(READING, False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

"""The read side's database: SQLite beside the data, or PostgreSQL by URL.

On SQLite one process writes, in transactions that take the write lock at once: one that began as
a reader would fail, without waiting, as soon as another writes. WAL lets readers see the last
commit meanwhile. `synchronous=FULL` syncs each commit to disk, so neither kill -9 nor a power
loss takes back what a reader has seen. NORMAL would never tear a transaction either, and rows and
position would fall back together; but after a power loss a change feed could give numbers again,
to other changes than the ones that its followers saw. It is one sync per projection and batch.
"""

import logging
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError, DBAPIError, ProgrammingError

from verdict.adapters.sql import session, sqlite_file
from verdict.adapters.sql.ownership import ForeignTableError
from verdict.adapters.sql.schema_names import TABLES, VIEWS
from verdict.adapters.sql.statements import exclude_others
from verdict.errors import UnreachableError, VerdictError
from verdict.read_side.apply.applier import database_failed
from verdict.read_side.projections.projection import Projection
from verdict.read_side.schema import creation, migrations, reader_role
from verdict.read_side.schema.migrations import NewerDatabaseError
from verdict.read_side.tables import processor_tables, versions
from verdict.settings.database_address import (
    driver_missing,
    file_of,
    is_sqlite,
    masked_url,
    one_line_error,
    parse,
)
from verdict.settings.database_roles import ROLES, Roles

LOG = logging.getLogger("verdict.adapters.sql")
WAIT_FOR_LOCK_S = 30  # of somebody else's; then it is said, and tried again
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
        UnreachableError: The database does not let us in.
    """
    parsed = parse(url)
    try:
        engine = _sqlite(parsed) if is_sqlite(parsed) else _postgresql(parsed)
        with ExitStack() as unless_it_suits:
            unless_it_suits.callback(engine.dispose)
            with engine.connect() as connection:
                _require_utf8(connection)
            _bring_forward(engine)
            unless_it_suits.pop_all()
        return engine
    except ModuleNotFoundError as error:
        raise driver_missing(parsed, error) from error
    except DatabaseError as error:
        if getattr(error.orig, "sqlstate", None) == UNDEFINED_TABLE:  # one that is there
            raise VerdictError(
                f"{masked_url(parsed)}: this login may not use the schema {TABLES}, in which the "
                "tables are: name the login of `verdict up` for what writes, one in the role of "
                "readers for what reads, or let an administrator GRANT it"
            ) from error
        raise UnreachableError(f"{masked_url(parsed)}: {one_line_error(error.orig)}") from error


def _bring_forward(engine: Engine) -> None:
    """Bring the tables that are there to today's form, whoever comes first with this version."""
    with failing_in_words(engine):
        with snapshot(engine) as connection:
            if not migrations.is_behind(connection):
                return
        with engine.begin() as connection:
            exclude_others(connection, "creation")
            migrations.bring_forward(connection)


def check_server(url: str) -> None:
    """Return when the database lets us in, or is a sound file: before anything is started.

    Raises:
        VerdictError, EnvironmentIncompleteError, UnreachableError: As for `open_database`.
    """
    if (file := file_of(url)) is not None:
        sqlite_file.check_wal_belongs(file)
    else:
        open_database(url).dispose()


@contextmanager
def opened(url: str) -> Iterator[Engine]:
    """Connect as `open_database` does, and disconnect behind the block."""
    engine = open_database(url)
    try:
        yield engine
    finally:
        engine.dispose()


def create_read_side(
    engine: Engine, projections: Sequence[Projection], roles: Roles = ROLES
) -> None:
    """Create the tables and views that are missing, all of them or none.

    On PostgreSQL then let readers in; where that takes an administrator, warn of it and go on.

    Raises:
        VerdictError: The user may not create any.
        UnreachableError: The database went away.
    """
    with _creation(engine) as connection:
        creation.create(connection, projections)
        processor_tables.create(connection)
        _let_in(connection, roles, processor_tables.readable(projections))


def check_built(engine: Engine, projections: Sequence[Projection]) -> None:
    """Return when no setting is one that no table was filled under.

    Where some tables fit and others do not, somebody is about to swap them one after the other,
    and has to be let in with either setting: the engine stops those that do not fit. It stops
    those, too, whose columns are others in this code than they were.

    Raises:
        VerdictError: Of all that depend on a setting, the tables were filled under another one.
        UnreachableError: The database went away.
    """
    with failing_in_words(engine), engine.connect() as connection:
        found = {one.name: versions.of(connection, one).settings for one in projections}
    known = {one.settings for one in projections if found[one.name] == one.settings}
    chosen = [one for one in projections if not one.settings.startswith(versions.COLUMNS)]
    if foreign := [one for one in chosen if one.settings not in known]:
        raise _built_otherwise(foreign, found)


def _built_otherwise(projections: Sequence[Projection], found: Mapping[str, str]) -> VerdictError:
    were = ", ".join(f"{one.name} v{one.version} with {found[one.name]!r}" for one in projections)
    return VerdictError(
        f"nothing was built with {projections[0].settings!r}, which is configured now: {were}; set "
        "it back and start again; with that running, and the new one set where you type, "
        "`verdict projection rebuild` and then `verdict projection promote --accept-differences` "
        f"{', '.join(one.name for one in projections)}, and start again with the new one"
    )


def _let_in(connection: Connection, roles: Roles, views: Sequence[str]) -> None:
    if missing := reader_role.grant_readers(connection, roles, views):
        LOG.warning(
            "nobody can read the views of %s yet, all else works: let an administrator "
            "run `%s`, then start again",
            masked_url(connection.engine.url), missing,
        )  # fmt: skip


@contextmanager
def _creation(engine: Engine) -> Iterator[Connection]:
    """Give a transaction, and say in words why it cannot create what it shall."""
    try:
        with failing_in_words(engine), engine.begin() as connection:
            yield connection
    except ProgrammingError as error:
        if getattr(error.orig, "sqlstate", None) != INSUFFICIENT_PRIVILEGE:
            raise
        raise VerdictError(
            f"{masked_url(engine.url)}: {one_line_error(error.orig)}; the user needs CREATE on "
            f"the database and on the schema {VIEWS}: let it own the database, or "
            f"GRANT CREATE ON DATABASE {engine.url.database} and GRANT CREATE ON SCHEMA {VIEWS}"
        ) from error


@contextmanager
def failing_in_words(engine: Engine) -> Iterator[None]:
    """Tell a database that fails from one that refuses what it is asked, which is a bug.

    Raises:
        UnreachableError: It went away, has somebody else's lock, or is read-only after a failover.
        VerdictError: A newer version of verdict has changed it, or a name that we need is taken.
    """
    try:
        yield
    except (NewerDatabaseError, ForeignTableError) as error:
        raise VerdictError(f"{masked_url(engine.url)}: {error}") from error
    except DBAPIError as error:
        if not database_failed(error):
            raise
        raise UnreachableError(f"{masked_url(engine.url)}: {one_line_error(error.orig)}") from error


def live_versions(engine: Engine) -> Mapping[str, int]:
    """Return the version that readers see, by projection; a new read side has none.

    Raises:
        UnreachableError: The database went away.
    """
    with failing_in_words(engine), engine.begin() as connection:
        return versions.all_live(connection)


def require_same_database(engine: Engine) -> None:
    """Return while the database is the one that was opened; every transaction begins with this.

    Raises:
        DatabaseFileChangedError: Its file was removed or replaced.
    """
    file: sqlite_file.OpenedFile | None = engine.get_execution_options().get(OPENED)
    if file is not None:
        file.check()


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """Give a connection that sees one state of the database, that of its first read; only to read.

    Whoever writes meanwhile is neither seen nor disturbed.
    """
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
        hide_parameters=True,  # what people may read of an error is no place for rows
    )
    # or a new connection would make an empty file
    event.listen(engine, "do_connect", lambda *_: require_same_database(engine))
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin_immediate)
    return engine


def _postgresql(url: URL) -> Engine:
    # a row that another transaction holds is waited for and seen as it is then, and is not an error
    engine = create_engine(
        url,
        isolation_level="READ COMMITTED",
        connect_args=session.options(url),
        hide_parameters=True,  # as above
    )
    event.listen(engine, "begin", _pin)
    return engine


def _pin(connection: Connection) -> None:
    patience = f"SET LOCAL lock_timeout TO '{WAIT_FOR_LOCK_S}s'"  # else for ever, without a word
    connection.exec_driver_sql(f"{session.pinned(TABLES, VIEWS)}; {patience}")


def _require_utf8(connection: Connection) -> None:
    """Raise VerdictError where texts are kept in an encoding that lacks most of them."""
    if is_sqlite(connection.engine.url):
        return
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar()
    if encoding != session.ENCODING:
        url = connection.engine.url
        raise VerdictError(
            f"{masked_url(url)} is encoded in {encoding}, which lacks characters that "
            "events may have: "
            f"create a database with CREATE DATABASE … ENCODING '{session.ENCODING}' TEMPLATE "
            "template0 and give its URL"
        )


def _prepare(connection: sqlite3.Connection, record: Any) -> None:
    connection.isolation_level = None  # the driver begins no transaction by itself
    connection.execute(sqlite_file.WAL)  # one that somebody else made may be of another mode
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA cache_size=-131072")  # KiB; 2 MiB makes every index page a read
    # pages, 64 MB; a page of an index that batch after batch changes is taken over once for many
    connection.execute("PRAGMA wal_autocheckpoint=16000")


def _begin_immediate(connection: Connection) -> None:
    require_same_database(connection.engine)
    reading = connection.get_execution_options().get(READING, False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

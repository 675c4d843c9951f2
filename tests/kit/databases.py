"""A read side on a database, as `verdict up` makes it, and short ways to look at it."""

import atexit
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import URL, Engine, MetaData, delete, event, make_url, select

from tests.application import APPLICATION
from verdict.adapters.sql.readers.reader import Reader
from verdict.adapters.sql.session import TABLES
from verdict.model.application import Application
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.missing_events import missing_events
from verdict.read_side.catalog import projections
from verdict.read_side.projections.projection import Projection
from verdict.read_side.schema.creation import OWN_METADATA
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.read_side.schema.system_views import readable
from verdict.settings.database_address import SUPPORT
from verdict.wire.topics import Topics

NOW = 1_795_300_000_000
Rows = list[tuple[Any, ...]]


class ReadSide:
    """One database, and the projections whose tables are in it."""

    def __init__(self, url: str, declared: Sequence[Projection] | None = None) -> None:
        self.projections = {
            p.name: p for p in (projections(APPLICATION) if declared is None else declared)
        }
        self.url = url
        is_copied = declared is None and _copied(url)
        self.engine = self.open()
        if not is_copied:
            create_read_side(self.engine, [*self.projections.values()])

    @property
    def is_postgresql(self) -> bool:
        """Whether it is not SQLite."""
        return self.engine.dialect.name == "postgresql"

    def open(self) -> Engine:
        """Return an engine of its own, as another process has."""
        return open_database(self.url)

    def applier(
        self,
        name: str,
        engine: Engine | None = None,
        application: Application = APPLICATION,
    ) -> Applier:
        """Return a new applier, as a restart does."""
        projection = self.projections[name]
        database = engine or self.engine
        return Applier(
            database, projection, Topics(application), lambda: NOW, missing=missing_events
        )

    def reader(self) -> Reader:
        """Return a connection that may read the views."""
        return Reader(self.url, readable([*self.projections.values()]), SUPPORT)

    def select(self, statement: str) -> Rows:
        """Return the rows that a reader sees."""
        with self.reader() as reader:
            return [*reader.select(statement).rows]

    def dump(self) -> dict[str, Rows]:
        """Return every table as it is, sorted."""
        tables = MetaData()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Skipped unsupported reflection of expression-based")
            tables.reflect(self.engine)
        with self.engine.connect() as connection:
            return {
                table.name: sorted(map(tuple, connection.execute(select(table))), key=str)
                for table in tables.sorted_tables
            }

    @contextmanager
    def statements(self) -> Iterator[list[str]]:
        """Collect the statements that are sent in the block."""
        sent: list[str] = []

        def note(_: object, __: object, statement: str, *___: object) -> None:
            sent.append(statement)

        event.listen(self.engine, "before_cursor_execute", note)
        yield sent
        event.remove(self.engine, "before_cursor_execute", note)

    def clear(self) -> None:
        """Make it as new."""
        declared = [projection.table.metadata for projection in self.projections.values()]
        with self.engine.begin() as connection:
            for metadata in (*OWN_METADATA, *declared):
                for table in metadata.sorted_tables:
                    connection.execute(delete(table))
        create_read_side(self.engine, [*self.projections.values()])

    def holders(self) -> dict[str, int]:
        """Return client → how many US positions the client holds."""
        return dict(self.select("SELECT client, positions FROM us_holder"))

    def changes(self) -> Rows:
        """Return (client, kind, position_id) of the whole feed, in its order."""
        return self.select("SELECT client, kind, position_id FROM us_holder_change ORDER BY seq")

    def close(self) -> None:
        """Let go of the file."""
        self.engine.dispose()


def _copied(url: str) -> bool:
    """Let a new database be a copy of one that has all tables and no row; tell whether it is.

    To create them is what most tests would take most of their time for.
    """
    database = make_url(url)
    if database.get_backend_name() == "postgresql":
        return _copied_on_server(database)
    file = Path(database.database or "")
    if file.exists():
        return False
    shutil.copyfile(_file_without_rows(), file)
    return True


@cache
def _file_without_rows() -> Path:
    folder = tempfile.mkdtemp(prefix="verdict-tests-")
    atexit.register(shutil.rmtree, folder)
    file = Path(folder, "read.db")
    _create(f"sqlite:///{file}")
    return file


def _copied_on_server(database: URL) -> bool:
    with psycopg.connect(_uri(database)) as connection:
        others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        found = connection.execute(f"SELECT to_regnamespace('{TABLES}'), ({others})").fetchone()
    if found != (None, 1):
        return False
    server = database.set(database="postgres")
    name = _database_without_rows(server)
    with psycopg.connect(_uri(server), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {database.database}")
        connection.execute(f"CREATE DATABASE {database.database} TEMPLATE {name}")
    return True


@cache
def _database_without_rows(server: URL) -> str:
    name = "read_side_without_rows"
    with psycopg.connect(_uri(server), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    _create(_uri(server.set(database=name)))
    return name


def _create(url: str) -> None:
    engine = open_database(url)
    create_read_side(engine, projections(APPLICATION))
    engine.dispose()


def _uri(database: URL) -> str:
    return database.render_as_string(hide_password=False)

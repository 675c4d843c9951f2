"""A database that another version of verdict wrote, on each kind of database."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from sqlalchemy import Connection, Engine, insert, inspect, literal, make_url, select, text
from sqlalchemy.exc import DBAPIError

from tests.application import APPLICATION
from tests.conftest import NewDatabase
from tests.kit.databases import ReadSide, Rows
from verdict.adapters.sql.session import TABLES
from verdict.errors import VerdictError
from verdict.read_side.catalog import projections
from verdict.read_side.schema import creation, migrations
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.read_side.schema.migrations import MIGRATIONS, Migration, bring_forward
from verdict.read_side.schema.system_views import SYSTEM_VIEWS
from verdict.read_side.tables import dead_letters
from verdict.settings.database_address import is_sqlite

PARKED = {
    "id": "a-letter",
    "topic": "order.commands",
    "partition": 0,
    "offset": 7,
    "attempt": 3,
    "attempts": 3,
    "retry_topic": "retry",
    "status": "PARKED",
    "headers": "[]",
    "received_at": 0,
}
Forms = dict[str, list[tuple[str, str, bool]]]


@pytest.fixture
def side(new_database: NewDatabase) -> Iterator[ReadSide]:
    """Return a database with a parked dead letter."""
    side = ReadSide(new_database())
    with side.engine.begin() as connection:
        connection.execute(insert(dead_letters.table).values(PARKED))
    yield side
    side.close()


def forms(engine: Engine) -> Forms:
    """Return the columns of every table."""
    schema = None if is_sqlite(engine.url) else TABLES
    looked = inspect(engine)
    return {
        name: sorted((c["name"], str(c["type"]), c["nullable"]) for c in columns)
        for (_, name), columns in looked.get_multi_columns(schema=schema).items()
    }


def raw(url: str, statements: tuple[str, ...]) -> list[Rows]:
    """Return the rows as a driver reads them, without any code of ours."""
    parsed = make_url(url)
    if is_sqlite(parsed):
        with closing(sqlite3.connect(str(parsed.database))) as file:
            return [file.execute(statement).fetchall() for statement in statements]
    with psycopg.connect(url) as server:
        return [server.execute(statement.encode()).fetchall() for statement in statements]


def test_a_migration_runs_once_and_its_column_is_there_for_old_rows(side: ReadSide) -> None:
    ran = []

    def step(connection: Connection) -> None:
        ran.append(1)
        connection.execute(text("ALTER TABLE dead_letter_v1 ADD COLUMN cause TEXT DEFAULT 'none'"))

    known = [*MIGRATIONS, Migration("letters say their cause", step)]
    for _ in range(2):
        with side.engine.begin() as connection:
            bring_forward(connection, known)

    assert ran == [1]
    with side.engine.connect() as connection:
        found = connection.execute(text("SELECT status, cause FROM dead_letter_v1")).all()
    assert found == [("PARKED", "none")]


@pytest.mark.proves("D-02")
def test_a_migration_that_fails_leaves_the_database_as_it_was(side: ReadSide) -> None:
    def step(connection: Connection) -> None:
        connection.execute(text("ALTER TABLE dead_letter_v1 ADD COLUMN cause TEXT"))
        connection.execute(text("SELECT nothing FROM nowhere"))

    before = forms(side.engine)
    known = [*MIGRATIONS, Migration("one that fails", step)]
    with pytest.raises(DBAPIError, match="nowhere"), side.engine.begin() as connection:
        bring_forward(connection, known)

    assert forms(side.engine) == before


def test_a_new_database_needs_no_migration(new_database: NewDatabase) -> None:
    def step(_: Connection) -> None:
        raise AssertionError("there is nothing to alter")

    engine = open_database(new_database())
    known = [*MIGRATIONS, Migration("of later", step)]
    for _ in range(2):
        with engine.begin() as connection:
            bring_forward(connection, known)
    engine.dispose()


@pytest.mark.proves("D-02")
def test_a_database_of_a_newer_version_is_refused_and_left_alone(side: ReadSide) -> None:
    number = len(MIGRATIONS) + 1
    with side.engine.begin() as connection:
        row = {"number": number, "name": "letters say their cause"}
        connection.execute(insert(migrations.table).values(row))
    before = side.dump()

    said = (
        rf"a newer version of verdict has changed it \(migration {number}, 'letters say their "
        rf"cause'; this version knows {number - 1}\): run that one, or restore"
    )
    with pytest.raises(VerdictError, match=said):
        open_database(side.url)
    with pytest.raises(VerdictError, match=said):
        create_read_side(side.engine, projections(APPLICATION))

    assert side.dump() == before


def test_a_view_shows_what_its_table_got(side: ReadSide, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever adds a column need not think of the views."""
    shown = select(dead_letters.table.c.id, dead_letters.table.c.status, literal(7).label("more"))
    monkeypatch.setattr(creation, "SYSTEM_VIEWS", {**SYSTEM_VIEWS, "dead_letter": shown})

    create_read_side(side.engine, projections(APPLICATION))

    assert raw(side.url, ("SELECT status, more FROM dead_letter",)) == [[("PARKED", 7)]]

"""A database that another version of verdict wrote, on each kind of database."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Text,
    insert,
    inspect,
    literal,
    make_url,
    select,
    text,
)
from sqlalchemy.exc import DBAPIError

from projections.us_holder import us_holder
from schemas.position import PositionAdjusted, PositionClosed
from tests.application import APPLICATION
from tests.conftest import NewDatabase
from tests.projection.event_log import EventLog, opened
from tests.projection.read_side import ReadSide, Rows
from tests.projection.responses import REJECTED, batch_of
from verdict.errors import VerdictError
from verdict.model.reason import Reason
from verdict.read_side.catalog import projections
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.read_side.schema import creation, migrations
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.read_side.schema.layout import TABLES
from verdict.read_side.schema.migrations import MIGRATIONS, Migration, add_column, bring_forward
from verdict.read_side.schema.system_views import OWN_VIEWS
from verdict.read_side.tables import dead_letters, versions
from verdict.read_side.tables.version_state import VersionState
from verdict.read_side.tables.versions_in_one import FORMER
from verdict.settings.database_address import is_sqlite

WRITTEN = Path(__file__).parent / "before_migrations"  # by the code of commit d846179
KEPT = (
    'SELECT global_position, aggregate_id, version, hash, topic, "offset" FROM event_archive '
    "ORDER BY 1",
    "SELECT id, status, key, bytes, headers FROM letter",
    "SELECT letter_id, kind, who, why FROM letter_intervention",
    "SELECT projection, aggregate_id, kind, who, why FROM projection_intervention",
    'SELECT projection, topic, "partition", next_offset FROM projection_position ORDER BY 1, 2, 3',
    "SELECT client, positions FROM us_holder",
)
# what four tables said: us_holder was swapped, is stopped, and is being built once more
SAID = """\
UPDATE projection_live_v1 SET version = 2, previous = 1 WHERE projection = 'us_holder';
INSERT INTO projection_built_v1 VALUES ('us_holder', 2, 'US exchanges: NYSE'),
  ('us_holder', 3, 'US exchanges: IEX'), ('program_tally', 2, '');
INSERT INTO projection_torso_v1 VALUES ('us_holder', 3, 'abc');
INSERT INTO projection_parked_v1 VALUES
  ('us_holder', 2, 'a bug', 'position.events', 1, 7, '2026-11-21T22:26:40.123Z'),
  ('us_holder', 9, 'of one that was dropped', NULL, NULL, NULL, '2026-11-21T22:26:40.123Z');
CREATE VIEW mine AS SELECT projection, version FROM projection_live"""
Forms = dict[str, list[tuple[str, str, bool]]]


@pytest.fixture
def old(new_database: NewDatabase) -> str:
    """Return a database as it was before migrations were numbered."""
    url = new_database()
    parsed = make_url(url)
    if is_sqlite(parsed):
        with closing(sqlite3.connect(str(parsed.database))) as connection:
            connection.executescript((WRITTEN / "sqlite.sql").read_text())
        return url
    with psycopg.connect(url, autocommit=True) as server:
        server.execute((WRITTEN / "postgresql.sql").read_bytes())
    return url


@pytest.fixture
def side(old: str) -> Iterator[ReadSide]:
    """Return that database, opened by the code of today."""
    side = ReadSide(old)
    yield side
    side.close()


def run(url: str, script: str) -> None:
    """Run SQL as a driver does, where our tables lie."""
    parsed = make_url(url)
    if is_sqlite(parsed):
        with closing(sqlite3.connect(str(parsed.database))) as file:
            file.executescript(script)
        return
    with psycopg.connect(url, options="-c search_path=public,projections") as server:
        server.execute(script.encode())


def forms(engine: Engine) -> Forms:
    """Return the columns of every table."""
    schema = None if is_sqlite(engine.url) else TABLES
    looked = inspect(engine)
    return {
        name: sorted((c["name"], str(c["type"]), c["nullable"]) for c in columns)
        for (_, name), columns in looked.get_multi_columns(schema=schema).items()
    }


def indexes(engine: Engine) -> list[str]:
    """Return what makes every index, but for those that keep rows apart."""
    known = (
        "SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY sql"
        if is_sqlite(engine.url)
        else f"SELECT indexdef FROM pg_indexes WHERE schemaname = '{TABLES}' ORDER BY indexdef"
    )
    with engine.connect() as connection:
        found = connection.exec_driver_sql(known).scalars()
        plain = (one.replace('"', "").replace("IF NOT EXISTS ", "") for one in found)
        return sorted(" ".join(one.split()) for one in plain)


def raw(url: str, statements: tuple[str, ...]) -> list[Rows]:
    """Return the rows as a driver reads them, without any code of ours."""
    parsed = make_url(url)
    if is_sqlite(parsed):
        with closing(sqlite3.connect(str(parsed.database))) as file:
            return [file.execute(statement).fetchall() for statement in statements]
    with psycopg.connect(url) as server:
        return [server.execute(statement.encode()).fetchall() for statement in statements]


@pytest.mark.proves("D-02")
def test_what_cannot_be_built_again_survives_and_goes_on(old: str) -> None:
    before = raw(old, KEPT)
    assert [len(rows) for rows in before] == [4, 1, 1, 1, 5, 1]

    side = ReadSide(old)

    assert raw(old, KEPT) == before
    log = EventLog()
    log.add("p-1", opened("ada"), PositionAdjusted(amount=7))
    log.add("p-2", opened("grace"), PositionClosed())
    log.add("p-1", PositionClosed())
    for name in ("event_archive", "us_holder"):
        assert side.applier(name).apply(log.everything()).applied == 1
    assert side.select("SELECT max(global_position), count(*) FROM event_archive") == [(5, 5)]
    assert side.holders() == {}
    side.close()


@pytest.mark.proves("D-02")
@pytest.mark.both_databases
def test_what_four_tables_said_of_versions_is_said_by_one(old: str) -> None:
    run(old, SAID)
    seen = (
        "SELECT projection, version, previous FROM projection_live ORDER BY 1",
        'SELECT projection, version, error, topic, "offset", parked_at FROM projection_parked '
        "ORDER BY 2",
        "SELECT * FROM mine ORDER BY 1",
    )
    live, [*stopped, _], mine = raw(old, seen)

    engine = open_database(old)

    assert raw(old, seen) == [live, stopped, mine]
    with engine.begin() as connection:
        known = versions.every(connection, "us_holder")
        versions.check_live(connection, compile_projection(us_holder, 2))
        assert versions.is_build(connection, compile_projection(us_holder, 3), "abc")
        assert versions.every(connection, "program_tally")[2].role == VersionState.BUILT
    assert [(n, one.role, one.error) for n, one in sorted(known.items())] == [
        (1, VersionState.KEPT, None),
        (2, VersionState.LIVE, "a bug"),
        (3, VersionState.BUILDING, None),
    ]
    assert known[2].settings == "US exchanges: NYSE"
    assert forms(engine).keys().isdisjoint(FORMER)
    engine.dispose()


@pytest.mark.both_databases
def test_older_outcomes_stay_and_new_ones_name_the_rule_and_the_actor(old: str) -> None:
    names = 'command_id, aggregate_type, aggregate_id, status, topic, "partition", "offset"'
    first = "'c-0', 'order', 'order-1', 'ACCEPTED', 'order.commands', 2, 39, 'c-0'"
    table = "outcome_v1 " if is_sqlite(make_url(old)) else f"{TABLES}.outcome_v1 "
    run(
        old,
        f"INSERT INTO {table}({names}, correlation_id, duplicate, decided_at) "
        f"VALUES ({first}, false, '2026-11-21T11:00:00.000Z')",
    )
    overfilled = {"reason": Reason.BUSINESS_RULE, "details": {"code": "OVERFILL"}}

    side = ReadSide(old)
    side.applier("outcome").apply(batch_of([REJECTED.model_copy(update=overfilled)]))

    assert side.select('SELECT command_id, rule_code, actor FROM outcome ORDER BY "offset"') == [
        ("c-0", None, None),
        ("c-2", "OVERFILL", "ada"),
    ]
    side.close()


@pytest.mark.proves("D-02")
def test_it_has_the_form_of_a_new_one(side: ReadSide, new_database: NewDatabase) -> None:
    new = ReadSide(new_database())

    assert forms(side.engine) == forms(new.engine)
    assert indexes(side.engine) == indexes(new.engine)
    numbers = "SELECT number, name FROM verdict_migration_v1 ORDER BY 1"
    with side.engine.connect() as ours, new.engine.connect() as theirs:
        assert [*ours.execute(text(numbers))] == [*theirs.execute(text(numbers))]
    new.close()


def test_a_migration_runs_once_and_its_column_is_there_for_old_rows(side: ReadSide) -> None:
    ran = []

    def step(connection: Connection) -> None:
        ran.append(1)
        add_column(connection, "letter_v1", Column("cause", Text, server_default="unknown"))
        add_column(connection, "letter_v1", Column("seen", BigInteger))
        add_column(connection, "not_made_yet_v1", Column("seen", BigInteger))

    known = [*MIGRATIONS, Migration("letters say their cause", step)]
    for _ in range(2):
        with side.engine.begin() as connection:
            bring_forward(connection, known)

    assert ran == [1]
    with side.engine.connect() as connection:
        found = connection.execute(text("SELECT status, cause, seen FROM letter_v1")).all()
    assert found == [("PARKED", "unknown", None)]


@pytest.mark.proves("D-02")
def test_a_migration_that_fails_leaves_the_database_as_it_was(side: ReadSide) -> None:
    def step(connection: Connection) -> None:
        add_column(connection, "letter_v1", Column("cause", Text))
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
    monkeypatch.setattr(creation, "OWN_VIEWS", {**OWN_VIEWS, "letter": shown})

    create_read_side(side.engine, projections(APPLICATION))

    assert raw(side.url, ("SELECT status, more FROM letter",)) == [[("PARKED", 7)]]

import collections
import os
import signal
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.application import APPLICATION
from verdict.adapters.sql.readers.reader import NotAllowedError, Reader
from verdict.adapters.sql.readers.sqlite_reader import views_made_in
from verdict.errors import UnreachableError, VerdictError
from verdict.read_side.catalog import projections
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.read_side.schema.system_views import readable

VIEWS = readable(projections(APPLICATION))


def create(file: Path) -> str:
    """Create an empty read side; return its URL."""
    engine = open_database(url := f"sqlite:///{file}")
    create_read_side(engine, projections(APPLICATION))
    engine.dispose()
    return url


def change(file: Path, *statements: str) -> None:
    with sqlite3.connect(file) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return an empty read side, in a directory whose name is no plain URL."""
    return create(tmp_path_factory.mktemp("read side") / "read.db")


@pytest.fixture
def reader(url: str) -> Iterator[Reader]:
    with Reader(url, VIEWS) as reader:
        yield reader


def test_every_view_can_be_selected_from_and_counted(reader: Reader) -> None:
    for view in VIEWS:
        rows = list(reader.select(f"SELECT * FROM {view}").rows)
        assert list(reader.select(f"SELECT count(*) FROM {view}").rows) == [(len(rows),)]
        assert not rows or view in ("projection_live", "projection_version")


def test_the_views_of_a_file_are_those_that_verdict_made(tmp_path: Path) -> None:
    """No foreign table, even under one of our names."""
    create(file := tmp_path / "read.db")
    assert views_made_in(file) == sorted(VIEWS)

    change(
        file,
        "CREATE VIEW mine AS SELECT 1", "DROP VIEW us_holder", "CREATE VIEW us_holder AS SELECT 1",
    )  # fmt: skip

    assert {*VIEWS}.difference(views_made_in(file)) == {"us_holder"}


def test_a_file_in_which_verdict_made_nothing_is_no_read_side(tmp_path: Path) -> None:
    change(file := tmp_path / "strange.db", "CREATE TABLE mine (one)")

    with pytest.raises(UnreachableError, match="is it the right data directory"):
        views_made_in(file)


def test_of_a_file_that_is_damaged_the_way_on_is_named(tmp_path: Path) -> None:
    url = create(file := tmp_path / "read.db")
    whole = file.read_bytes()
    all_views = " UNION ALL ".join(f"SELECT count(*) FROM {view}" for view in VIEWS)
    with Reader(url, VIEWS) as reader:
        file.write_bytes(whole[: len(whole) // 2] + b"\xff" * (len(whole) // 2))
        with pytest.raises(VerdictError, match=r"damaged .*: stop the service, remove the file"):
            collections.deque(reader.select(all_views).rows)


def test_ctrl_c_while_sqlite_asks_what_may_be_read_is_no_refusal(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver takes whatever is raised there for a no."""

    def interrupted(*_: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as typed:
        typed.setattr(
            "verdict.adapters.sql.readers.sqlite_reader._Authorizer._readable", interrupted
        )
        with pytest.raises(KeyboardInterrupt):
            reader.select("SELECT count(*) FROM outcome")
    assert list(reader.select("SELECT count(*) FROM outcome").rows) == [(0,)]


@pytest.mark.proves("S-03")
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT c.seq FROM us_holder_change c JOIN us_holder h USING (client)",
        "WITH us AS (SELECT client FROM us_holder) SELECT max(client) FROM us GROUP BY client",
        "EXPLAIN QUERY PLAN SELECT * FROM outcome WHERE command_id = 'c-1'",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n LIMIT 3) SELECT i FROM n",
        "WITH us AS MATERIALIZED (SELECT client FROM us_holder) SELECT count(*) FROM us a, us b",
        "WITH us AS MATERIALIZED (SELECT * FROM us_holder) SELECT (SELECT count(*) FROM us)",
        "SELECT e.value FROM event_archive a, json_each(a.payload) e",
        "SELECT key FROM json_tree('[1]')",
    ],
)
def test_select_is_allowed_in_all_its_forms(reader: Reader, statement: str) -> None:
    list(reader.select(statement).rows)


@pytest.mark.proves("S-03")
@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("SELECT * FROM us_holder_v1", "table us_holder_v1"),
        ("SELECT count(*) FROM projection_sequence_v1", "table projection_sequence_v1"),
        ("SELECT EXISTS (SELECT 1 FROM projection_version_v1)", "table projection_version_v1"),
        (
            "SELECT (SELECT last FROM projection_sequence_v1) FROM us_holder",
            "table projection_sequence_v1",
        ),
        ("SELECT * FROM sqlite_master", "table sqlite_master"),
        (
            "WITH us_holder AS (SELECT * FROM sqlite_master) SELECT * FROM us_holder",
            "table sqlite_master",
        ),
        ("SELECT * FROM pragma_table_info('us_holder')", "table pragma_table_info"),
        ("SELECT * FROM dbstat", "table dbstat"),
        (
            "WITH us_holder AS (SELECT client FROM us_holder_v1) SELECT * FROM us_holder",
            "table us_holder_v1",
        ),
        ("SELECT * FROM [US_HOLDER_V1]", "table us_holder_v1"),
        ("SELECT load_extension('x')", "function load_extension"),
        ("PRAGMA journal_mode = DELETE", "PRAGMA journal_mode"),
        ("ATTACH 'other.db' AS other", "ATTACH other.db"),
        ("VACUUM INTO 'other.db'", "ATTACH other.db"),
        ("INSERT INTO us_holder_v1 VALUES ('ada', 1, '')", "INSERT us_holder_v1"),
        ("UPDATE us_holder_v1 SET positions = 2", "UPDATE us_holder_v1"),
        ("DROP VIEW us_holder", "DELETE sqlite_master"),
        ("CREATE TEMP TABLE mine (x)", "INSERT sqlite_temp_master"),
        ("BEGIN", "a transaction BEGIN"),
    ],
)
def test_anything_else_is_refused_by_name(reader: Reader, statement: str, wanted: str) -> None:
    with pytest.raises(NotAllowedError) as refusal:
        reader.select(statement)

    assert f"this statement wants {wanted}" in str(refusal.value)
    assert reader.select("SELECT * FROM us_holder").columns == ("client", "positions", "since")


FOR_EVER = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "


@pytest.mark.proves("S-03")
@pytest.mark.parametrize("query", [FOR_EVER + "count(*) FROM n", FOR_EVER + "i FROM n"])
def test_a_query_that_takes_too_long_is_ended(url: str, query: str) -> None:
    with (
        Reader(url, VIEWS, timeout_s=0.05) as reader,
        pytest.raises(VerdictError, match=r"ended after 0\.05 s: ask for less .* sql_timeout_s"),
    ):
        collections.deque(reader.select(query).rows, maxlen=0)


@pytest.mark.proves("S-03")
def test_a_query_ends_at_ctrl_c_and_the_next_one_runs(reader: Reader) -> None:
    """The driver is in C and gives the signal to Python only where it is asked to."""
    before = signal.signal(signal.SIGUSR1, signal.default_int_handler)
    presses = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1))
    presses.start()
    with pytest.raises(KeyboardInterrupt):
        reader.select(FOR_EVER + "count(*) FROM n")
    presses.join()
    signal.signal(signal.SIGUSR1, before)

    assert list(reader.select("SELECT count(*) FROM us_holder").rows) == [(0,)]


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        (
            "SELECT * FROM us_holders",
            r"no such table: us_holders; is it us_holder\? `verdict sql` lists the views",
        ),
        ("SELECT dead_leter FROM us_holder", "no such column: dead_leter; is it dead_letter"),
        ("SELEC 1", 'near "SELEC": syntax error'),
        ("SELECT 1; SELECT 2", "one statement at a time"),
    ],
)
def test_a_mistake_is_explained(reader: Reader, statement: str, problem: str) -> None:
    with pytest.raises(VerdictError, match=problem):
        reader.select(statement)


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match=r"no read side can be read at .*none\.db"):
        Reader(f"sqlite:///{tmp_path / 'none.db'}", VIEWS)

    assert list(tmp_path.iterdir()) == []

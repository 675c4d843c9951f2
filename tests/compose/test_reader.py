from collections.abc import Iterator
from pathlib import Path

import pytest

from compose.errors import Unreachable, VerdictError
from compose.sql.database import create_read_side, open_database
from compose.sql.processor_tables import readable
from compose.sql.reader import NotForReaders, Reader
from projections.registry import projections

VIEWS = readable(projections())


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return an empty read side, in a directory whose name is no plain URL."""
    url = f"sqlite:///{tmp_path_factory.mktemp('read side') / 'read.db'}"
    engine = open_database(url)
    create_read_side(engine, projections())
    engine.dispose()
    return url


@pytest.fixture
def reader(url: str) -> Iterator[Reader]:
    with Reader(url, VIEWS) as reader:
        yield reader


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_can_be_selected_from_and_counted(reader: Reader, view: str) -> None:
    rows = list(reader.select(f"SELECT * FROM {view}").rows)
    assert list(reader.select(f"SELECT count(*) FROM {view}").rows) == [(len(rows),)]
    assert not rows or view == "projection_live"


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT c.seq FROM us_holder_change c JOIN us_holder h USING (client)",
        "WITH us AS (SELECT client FROM us_holder) SELECT max(client) FROM us GROUP BY client",
        "EXPLAIN QUERY PLAN SELECT * FROM outcome WHERE command_id = 'c-1'",
        "SELECT upper('a'), json_extract('[1]', '$[0]')",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n LIMIT 3) SELECT i FROM n",
    ],
)
def test_select_is_allowed_in_all_its_forms(reader: Reader, statement: str) -> None:
    list(reader.select(statement).rows)


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("SELECT * FROM us_holder_v1", "table us_holder_v1"),
        ("SELECT client FROM main.us_holder_v1", "table us_holder_v1"),
        ("SELECT count(*) FROM projection_sequence_v1", "table projection_sequence_v1"),
        ("SELECT EXISTS (SELECT 1 FROM projection_built_v1)", "table projection_built_v1"),
        ("SELECT (SELECT last FROM projection_sequence_v1) FROM us_holder", "projection_sequence"),
        ("SELECT rowid FROM us_holder_v1", "table us_holder_v1"),
        (
            "WITH us_holder AS (SELECT version FROM us_holder_position_v1) SELECT * FROM us_holder",
            "table us_holder_position_v1",
        ),
        ("SELECT * FROM sqlite_master", "table sqlite_master"),
        ("SELECT * FROM json_each('[1]')", "a table function"),
        ("SELECT * FROM pragma_table_info('us_holder')", "a table function"),
        ("SELECT load_extension('x')", "function load_extension"),
        ("PRAGMA journal_mode = DELETE", "PRAGMA journal_mode"),
        ("ATTACH 'other.db' AS other", "ATTACH other.db"),
        ("VACUUM INTO 'other.db'", "ATTACH other.db"),
        ("INSERT INTO us_holder_v1 VALUES ('ada', 1, '')", "INSERT us_holder_v1"),
        ("DELETE FROM us_holder_v1", "DELETE us_holder_v1"),
        ("UPDATE us_holder_v1 SET positions = 2", "UPDATE us_holder_v1"),
        ("DROP VIEW us_holder", "DELETE sqlite_master"),
        ("CREATE TEMP TABLE mine (x)", "INSERT sqlite_temp_master"),
        ("BEGIN", "a transaction BEGIN"),
    ],
)
def test_anything_else_is_refused_by_name(reader: Reader, statement: str, wanted: str) -> None:
    with pytest.raises(NotForReaders) as refusal:
        reader.select(statement)

    assert wanted in str(refusal.value)
    assert "outcome, program_tally, program_tally_version, projection_held, " in str(refusal.value)


def test_a_refusal_does_not_stick(reader: Reader) -> None:
    with pytest.raises(NotForReaders):
        reader.select("SELECT * FROM us_holder_v1")

    assert reader.select("SELECT * FROM us_holder").columns == ("client", "positions", "since")


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("SELECT * FROM us_holders", "no such table: us_holders; the views are client_"),
        ("SELEC 1", 'near "SELEC": syntax error'),
        ("SELECT 1; SELECT 2", "one statement at a time"),
    ],
)
def test_a_mistake_is_explained(reader: Reader, statement: str, problem: str) -> None:
    with pytest.raises(VerdictError, match=problem):
        reader.select(statement)


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match=r"no read side can be read at .*none\.db"):
        Reader(f"sqlite:///{tmp_path / 'none.db'}", VIEWS)

    assert list(tmp_path.iterdir()) == []


def test_a_view_that_the_service_has_not_made_yet_stands_in_nobody_s_way(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'older.db'}"
    engine = open_database(url)
    create_read_side(engine, [p for p in projections() if p.name != "us_holder"])
    engine.dispose()

    with Reader(url, VIEWS) as reader:
        assert list(reader.select("SELECT count(*) FROM outcome").rows) == [(0,)]
        with pytest.raises(VerdictError, match="no such table: us_holder"):
            reader.select("SELECT * FROM us_holder")

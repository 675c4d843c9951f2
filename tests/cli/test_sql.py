"""What `verdict sql` writes, for people and for programs."""

import csv
import io
import json
from functools import partial

import pytest
from rich.text import Text
from sqlalchemy import text

from tests.application import APPLICATION
from tests.cli.conftest import Run
from verdict.read_side.catalog import projections
from verdict.read_side.schema.database import create_read_side, open_database

MESSAGE = "cannot fill 3: " + "and so on " * 30 + 'as "ada, a client" said\nin two lines'
QUERY = "SELECT projection, version, error, topic FROM projection_stopped"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a read side with one long message in it."""
    url = f"sqlite:///{tmp_path_factory.mktemp('sql') / 'read.db'}"
    engine = open_database(url)
    create_read_side(engine, projections(APPLICATION))
    with engine.begin() as connection:
        stopped = "(projection, version, state, settings, error, stopped_at)"
        row = "('p', 1, 'live', '', :error, '2026-11-21T12:00:00.000Z')"
        connection.execute(
            text(f"INSERT INTO projection_version_v1 {stopped} VALUES {row}"), {"error": MESSAGE}
        )
    engine.dispose()
    return url


@pytest.fixture
def sql(run: Run, url: str) -> Run:
    """Return `verdict sql` on it."""
    return partial(run, "sql", "--database-url", url)


def test_what_programs_read_is_what_there_is(sql: Run) -> None:
    assert sql(QUERY, "--json").lines == [
        {"projection": "p", "version": 1, "error": MESSAGE, "topic": None}
    ]
    assert [*csv.reader(io.StringIO(sql(QUERY, "--csv").stdout))] == [
        ["projection", "version", "error", "topic"],
        ["p", "1", MESSAGE, ""],
    ]
    values = sql("SELECT x'00ff' AS bytes, '{\"a\": 1}' AS json", "--csv").stdout
    assert values == 'bytes,json\n00ff,"{""a"": 1}"\n'


@pytest.mark.parametrize("terminal", [False, True])
def test_a_message_is_never_broken(
    sql: Run, terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")

    shown = sql(QUERY).stdout

    assert MESSAGE.replace("\n", "\\n") in Text.from_ansi(shown).plain
    assert ("record 1" in shown) is terminal


@pytest.mark.parametrize(("options", "lines"), [((), 2), (("--json",), 0)])
def test_no_rows_are_no_rows(sql: Run, options: tuple[str, ...], lines: int) -> None:
    none = sql(f"{QUERY} WHERE version = 2", *options)

    assert none.exit_code == 0
    assert len(none.stdout.splitlines()) == lines


def test_without_a_query_the_views_are_listed_that_one_may_see(sql: Run) -> None:
    reader, support = (sql("--json", "--as", role).lines for role in ("reader", "support"))

    assert {"view": "us_holder", "about": "Clients who hold at least one position on a US exchange "
            "now."} in reader  # fmt: skip
    assert {row["view"] for row in support} - {row["view"] for row in reader} == {
        "dead_letter", "dead_letter_intervention", "projection_intervention",
    }  # fmt: skip


def test_a_view_s_name_describes_its_columns_in_their_order(sql: Run) -> None:
    described = sql("event_archive", "--json").lines
    of_operators = sql("dead_letter")

    seen = json.loads(sql("SELECT * FROM projection_stopped", "--json").stdout)
    assert [row["column"] for row in sql("projection_stopped", "--json").lines] == [*seen]
    assert {"column": "payload", "type": "json", "about": "The event as JSON; personal "
            "fields are null unless you see them."} in described  # fmt: skip
    assert of_operators.exit_code == 1


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("DELETE FROM outcome", "the views"),
        ("SELECT * FROM projection_position_v1", "the views"),
        ("SELEC", "the views"),
        ("SELECT 1 AS a, 2 AS a", "name them with AS"),
    ],
)
def test_what_it_cannot_answer_is_refused(sql: Run, query: str, said: str) -> None:
    refused = sql(query, "--json")

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert said in refused.stderr

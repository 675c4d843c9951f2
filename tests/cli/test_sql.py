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
FORMATS = ("table", "vertical", "csv", "json")


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
    as_csv, as_json = (sql(QUERY, "--format", name) for name in ("csv", "json"))

    assert [*csv.reader(io.StringIO(as_csv.stdout))] == [
        ["projection", "version", "error", "topic"],
        ["p", "1", MESSAGE, ""],
    ]
    assert as_json.lines == [{"projection": "p", "version": 1, "error": MESSAGE, "topic": None}]
    assert sql(QUERY, "--json").stdout == as_json.stdout


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("form", ["table", "vertical"])
def test_a_message_is_never_broken(
    sql: Run, form: str, terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")

    shown = sql(QUERY, "--format", form).stdout

    message = MESSAGE.replace("\n", "\\n")
    if terminal and form == "table":  # broken between its words
        shown = " ".join(Text.from_ansi(shown).plain.replace(" - ", " ").split())
        message = " ".join(message.split())
    assert message in shown
    assert ("record 1" in shown) is (form == "vertical")


@pytest.mark.parametrize("form", FORMATS)
def test_no_rows_are_no_rows(sql: Run, form: str) -> None:
    none = sql(f"{QUERY} WHERE version = 2", "--format", form)

    assert none.exit_code == 0
    assert len(none.stdout.splitlines()) <= 2


def test_bytes_and_json_are_texts_in_csv(sql: Run) -> None:
    shown = sql("SELECT x'00ff' AS bytes, '{\"a\": 1}' AS json", "--format", "csv").stdout

    assert [*csv.reader(io.StringIO(shown))][1] == ["00ff", '{"a": 1}']


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
    assert {"column": "payload", "type": "json", "about": "What happened, as JSON; what is "
            "personal is null unless you may see it."} in described  # fmt: skip
    assert of_operators.exit_code == 1

"""A database that hangs keeps no answer about the health of a service waiting."""

import socket
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from tests.application import APPLICATION
from verdict.cli.main import app
from verdict.errors import UnreachableError
from verdict.http.application import page_of
from verdict.operations.status import database_timeout
from verdict.operations.status.collect import get_status
from verdict.operations.status.database_timeout import DatabaseTimeout
from verdict.operations.status.status import DATABASE, Problem
from verdict.settings.load import settings_alone
from verdict.settings.settings import Settings

SAID = "the database has not answered for "


class Silent(NamedTuple):
    """A server that takes connections, as a stopped one does, and never answers."""

    listener: socket.socket
    settings: Settings

    def asked(self) -> socket.socket:
        """Return the connection of who asks, who still waits on it."""
        connection, _ = self.listener.accept()
        assert connection.recv(100), "it was asked"
        connection.setblocking(False)
        with pytest.raises(BlockingIOError):
            connection.recv(100)
        return connection


@pytest.fixture
def silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Silent]:
    """A deployment whose database is silent."""
    monkeypatch.setattr(database_timeout, "WAIT_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        url = f"postgresql://ada:x@127.0.0.1:{port}/verdict"
        yield Silent(listener, settings_alone(APPLICATION, data_dir=tmp_path, database_url=url))


def of_database(problems: tuple[Problem, ...]) -> list[Problem]:
    return [one for one in problems if one.part == DATABASE]


def test_a_database_that_hangs_is_named_and_asked_once(silent: Silent) -> None:
    kept = DatabaseTimeout()
    looks = [get_status(silent.settings, kept) for _ in range(3)]

    for found in looks:
        [problem] = of_database(found.problems)
        assert problem.startswith(SAID)
        assert found.unreachable
        assert found.projections is None
    with silent.asked():
        silent.listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            silent.listener.accept()


def test_every_page_about_health_answers_while_the_database_hangs(silent: Silent) -> None:
    with TestClient(page_of(silent.settings), "http://127.0.0.1:8300") as browser:
        answers = {
            path: browser.get(path) for path in ("/livez", "/readyz", "/status", "/metrics", "/")
        }

    with silent.asked():
        assert answers["/livez"].status_code == 200
        assert answers["/readyz"].status_code == 503, "no service runs"
        assert SAID not in answers["/readyz"].text, "commands are decided without a database"
        assert any(one.startswith(SAID) for one in answers["/status"].json()["problems"])
        assert "verdict_ready 0.0" in answers["/metrics"].text
        assert SAID in answers["/"].text


@pytest.mark.parametrize("flag", ["--check", "--json", None])
def test_status_names_a_database_that_hangs(
    silent: Silent, flag: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = silent.settings.database_url
    assert url is not None
    monkeypatch.setenv("VERDICT_DATABASE_URL", url.get_secret_value())
    monkeypatch.setenv("VERDICT_DATA_DIR", str(silent.settings.data_dir))
    monkeypatch.setenv("COLUMNS", "300")

    status = CliRunner().invoke(app, ["status", *([flag] if flag else [])])

    with silent.asked():
        assert status.exit_code == UnreachableError.exit_code
        assert SAID in status.stdout


def test_an_answer_that_comes_late_is_used_by_the_next_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(database_timeout, "WAIT_S", 0.01)
    kept, late = DatabaseTimeout(), Future[str]()
    with pytest.raises(UnreachableError):
        kept.ask("views", late.result)

    late.set_result("late")
    monkeypatch.setattr(database_timeout, "WAIT_S", 60.0)

    assert kept.ask("views", never) == "late"
    with pytest.raises(ZeroDivisionError):
        kept.ask("views", lambda: str(1 // 0))
    assert kept.ask("views", lambda: "asked again") == "asked again"


def never() -> str:
    raise AssertionError("it is asked already")

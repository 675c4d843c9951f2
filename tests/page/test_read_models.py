"""Read models on the page: their versions, and work on them in processes of their own."""

import os
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from tests.application import APPLICATION
from tests.page.conftest import TOKEN, Opened
from verdict.configuration.loading import load_settings
from verdict.model.application import Application
from verdict.page.jobs import Action, Busy, Job, Jobs

HTML = {"accept": "text/html"}
WAIT_S = 60


def says_and_waits(
    application: Application,
    chosen: dict[str, Any],
    name: str,
    action: Action,
    accept: bool,
    pipe: Connection,
) -> None:
    """Tell something, and go on when somebody lets it."""
    pipe.send(Job(action, f"{name} is half done, {accept}"))
    while not (chosen["data_dir"] / "go").exists():
        time.sleep(0.01)
    pipe.send(Job(action, "done", ended=True))


def lingers(
    application: Application,
    chosen: dict[str, Any],
    name: str,
    action: Action,
    accept: bool,
    pipe: Connection,
) -> None:
    """Say that it is done, and end when somebody lets it."""
    pipe.send(Job(action, "done", ended=True))
    (chosen["data_dir"] / "told").touch()
    while not (chosen["data_dir"] / "go").exists():
        time.sleep(0.01)


def dies(
    application: Application,
    chosen: dict[str, Any],
    name: str,
    action: Action,
    accept: bool,
    pipe: Connection,
) -> None:
    """End as what the system kills does."""
    pipe.send(Job(action, "half way"))
    os._exit(9)


Began = Callable[..., Jobs]


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Began]:
    """Return what gives jobs that do something small."""
    made: list[Jobs] = []

    def begin(do: Any) -> Jobs:
        made.append(Jobs(load_settings(APPLICATION, data_dir=tmp_path), do))
        return made[-1]

    yield begin
    for one in made:
        one.stop()


def until(reached: Callable[[], bool]) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + WAIT_S
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.process
def test_a_job_tells_how_far_it_is_and_keeps_others_out_until_it_has_ended(
    jobs: Began, tmp_path: Path
) -> None:
    began = jobs(says_and_waits)

    began.begin("us_holder", Action.SWAP, accept_differences=True)
    until(lambda: "half done" in began.newest["us_holder"].said)
    with pytest.raises(Busy, match="swap has not ended yet: us_holder is half done, True"):
        began.begin("us_holder", Action.REBUILD)
    (tmp_path / "go").touch()
    until(lambda: began.newest["us_holder"].ended)

    assert began.newest["us_holder"] == Job(Action.SWAP, "done", ended=True)
    began.begin("us_holder", Action.VERIFY)


@pytest.mark.process
def test_nothing_else_begins_before_the_process_has_ended(jobs: Began, tmp_path: Path) -> None:
    began = jobs(lingers)

    began.begin("us_holder", Action.SWAP)
    until((tmp_path / "told").exists)
    with pytest.raises(Busy):
        began.begin("us_holder", Action.ROLLBACK)
    (tmp_path / "go").touch()
    until(lambda: began.newest["us_holder"].ended)

    assert began.newest["us_holder"] == Job(Action.SWAP, "done", ended=True)


@pytest.mark.process
def test_a_job_whose_process_dies_has_failed_and_says_where(jobs: Began) -> None:
    began = jobs(dies)

    began.begin("us_holder", Action.REBUILD)
    until(lambda: began.newest["us_holder"].ended)

    assert began.newest["us_holder"].failed
    assert began.newest["us_holder"].said == "its process ended with code 9, at: half way"


@pytest.mark.process
def test_what_cannot_be_done_is_said_in_the_words_of_the_verb(opened: Opened) -> None:
    browser = opened(page_token=TOKEN).browser
    form = {"name": "us_holder", "action": "verify", "token": TOKEN}

    begun = browser.post("/read-models", data=form, headers=HTML)
    until(lambda: "failed" in browser.get("/read-models/live").text)

    assert begun.status_code == 200
    assert "start `verdict up`" in browser.get("/read-models/live").text


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"name": "us_holder", "action": "verify", "token": "not this one"}, 401),
        ({"name": "event_archive", "action": "rebuild", "token": TOKEN}, 400),
        ({"name": "us_holder", "action": "drop", "token": TOKEN}, 400),
        ({"token": TOKEN}, 400),
    ],
)
def test_nothing_is_begun_without_the_token_or_a_name(
    opened: Opened, form: dict[str, str], status: int
) -> None:
    browser = opened(page_token=TOKEN).browser

    answer = browser.post("/read-models", data=form, headers=HTML)

    assert answer.status_code == status
    assert "nothing was done" in answer.text
    assert "under way" not in browser.get("/read-models/live").text


def test_versions_are_shown_and_the_form_only_where_there_is_a_token(opened: Opened) -> None:
    none, some = opened(), opened(page_token=TOKEN)

    assert "outcome" in none.browser.get("/read-models", headers=HTML).text
    assert "<button name" not in none.browser.get("/read-models", headers=HTML).text
    shown = some.browser.get("/read-models", headers=HTML).text
    assert "<option>us_holder</option>" in shown
    assert "<option>event_archive</option>" not in shown

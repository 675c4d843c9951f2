"""The page as it is served, and tabs of a real browser."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Page, expect

from schemas.position import PositionTransferred
from tests.application import APPLICATION
from tests.http.browser.chromium import launched
from tests.http.conftest import TOKEN, Looked
from tests.http.filled import ODD, altered
from tests.read_side.holding import Holding
from verdict.http import serving
from verdict.http.application import page_of
from verdict.operations.status.status import (
    BlockedAggregateStatus,
    DeadLettersStatus,
    Problem,
    ProjectionStatus,
)
from verdict.settings.discovery import DATABASE
from verdict.settings.load import settings_alone

LONG = "a-name-without-a-space" * 8
FILLED, EMPTY, BROKEN = "filled", "empty", "broken"
NOTHING = dict.fromkeys(
    ("service", "commands", "decider", "processors", "projections", "dead_letters")
)
ALTER = "UPDATE event_archive_v1 SET value = x'00' WHERE aggregate_id = 'o-1' AND version = 1"

expect.set_options(timeout=60_000)  # a busy machine is slow


class Site(NamedTuple):
    """Where the page is served, and what it will find."""

    url: str
    looked: Looked


Serve = Callable[[str], Site]
NewTab = Callable[..., Page]


@pytest.fixture(scope="module")  # while it lives, no event loop can be started in this thread
def chromium() -> Iterator[Browser]:
    """A running Chromium."""
    with launched() as browser:
        yield browser


@pytest.fixture
def new_tab(chromium: Browser) -> Iterator[NewTab]:
    """Open tabs that know nothing of each other; takes Playwright's options of a context."""
    with ExitStack() as tabs:
        yield lambda **options: tabs.enter_context(chromium.new_context(**options)).new_page()


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, filled: Path) -> Iterator[Serve]:
    """Serve the page of a deployment that is filled, empty or broken."""
    with ExitStack() as served:

        def begin(how: str) -> Site:
            looked = Looked()
            monkeypatch.setattr(serving, "page_of", partial(page_of, look=looked))
            if how == EMPTY:
                looked.find(**NOTHING)
            else:
                shutil.copy(filled / DATABASE, tmp_path)
                lot = Holding(f"sqlite:///{tmp_path / DATABASE}")
                lot.hold("p-7", PositionTransferred(client="bob"))  # which fixed code could take
                served.callback(lot.close)
            if how == BROKEN:
                break_all(tmp_path, looked)
            settings = settings_alone(APPLICATION, data_dir=tmp_path, page_token=TOKEN, page_port=0)
            return Site(served.enter_context(serving.Serving(settings)).url[:-1], looked)

        yield begin


def break_all(folder: Path, looked: Looked) -> None:
    """Alter an event, and let a look find whatever can be wrong, in long words."""
    altered(folder, ALTER)
    waits = tuple(
        BlockedAggregateStatus("order", id, 3, 5, "2026-11-21T09:00:00.000Z", error)
        for id, error in ((ODD, None), (LONG, f"ZeroDivisionError: {LONG}"))
    )
    looked.find(
        decider=None,
        problems=(Problem("2 dead letters are parked"), Problem(f"Kafka is away: {LONG}")),
        dead_letters=DeadLettersStatus(1, 2, 0),
        projections=(
            ProjectionStatus("us_holder", 1, "live", 1_234_567, f"stopped: {LONG}", (), ()),
            ProjectionStatus("outcome", 1, "live", 0, None, waits, ()),
            ProjectionStatus("outcome", 2, "incomplete", None, None, (), ()),
        ),
    )

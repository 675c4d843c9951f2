"""A page of a read side that was filled in memory, and of facts as a test wants them."""

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from starlette.testclient import TestClient

from tests.application import APPLICATION
from tests.http.filled import fill
from verdict.adapters.sql.time_text import wall_clock
from verdict.http import serving
from verdict.http.application import page_of
from verdict.http.metrics import CODES
from verdict.http.openapi import described
from verdict.operations.status.status import (
    CommandsStatus,
    DeadLettersStatus,
    DeciderStatus,
    PolicyRejections,
    PositionStatus,
    ProcessorStatus,
    ProjectionStatus,
    StatusReport,
)
from verdict.settings.discovery import DATABASE, AnnouncedService, Latency
from verdict.settings.load import settings_alone

AT = wall_clock() // 60_000 * 60_000 - 10 * 60_000  # the begin of a minute of the last hours
TOKEN = "a token of sixteen"
BEARER = {"authorization": f"Bearer {TOKEN}"}


def standing(decided: int = 7, end: int = 7, reached: int = 12, lag: int = 0) -> StatusReport:
    """Return a service that decides, with a reader and a projection."""
    shown = ProjectionStatus(
        "outcome", 1, "live", lag, None, (), (PositionStatus("r", 0, reached, lag),)
    )
    minutes = Latency(AT, 5, 20, 90, 100), Latency(AT + 120_000, 7, 30, 1200, 2000)
    service = AnnouncedService(
        os.getpid(), "127.0.0.1:9", "sqlite:////nowhere", latency=minutes[1], latencies=minutes
    )
    return StatusReport(
        service=service,
        data_dir=Path("/nowhere"),
        processes=(service,),
        decider=DeciderStatus("me", 1, 4, 2, "order=1"),
        commands=(CommandsStatus("order.commands", 0, decided, end, end - decided),),
        processors=(ProcessorStatus("policies", 1, "me", 0, 3),),
        projections=(shown,),
        dead_letters=DeadLettersStatus(0, 0, 0),
        events=12,
        answered={"ACCEPTED": 4, "NOT_FOUND": 1, "BUSINESS_RULE": 5},
        refused={"OVERFILL": 2, **{f"COMPUTED-{n}": 1 for n in range(CODES + 2)}},
        policy_rejections=(
            PolicyRejections("ship", "BUSINESS_RULE", "LATE", 3, 1, "c-9"),
            PolicyRejections("ship", "BUSINESS_RULE", "OVERFILL", 4, 0, None),
        ),
    )


class Looked:
    """What the next look finds."""

    def __init__(self) -> None:
        self.now = standing()
        self.look: Callable[[], StatusReport] = lambda: self.now

    def __call__(self) -> StatusReport:
        return self.look()

    def find(self, **changed: object) -> None:
        self.now = replace(self.now, **changed)  # type: ignore[arg-type]


class Page(NamedTuple):
    """A browser on a page, and what the page will find."""

    browser: TestClient
    looked: Looked


Opened = Callable[..., Page]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Open pages of a data directory."""

    def open_page(with_service: bool = False, **settings: object) -> Page:
        looked = Looked()
        chosen = settings_alone(APPLICATION, **({"data_dir": tmp_path} | settings))
        page = page_of(chosen, looked, with_service)
        browser = TestClient(page, "http://127.0.0.1:8300", raise_server_exceptions=False)
        return Page(browsers.enter_context(browser), looked)

    with ExitStack() as browsers:
        yield open_page


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data directory with the tables of what happened in `filled`."""
    folder = tmp_path_factory.mktemp("filled")
    fill(f"sqlite:///{folder / DATABASE}")
    return folder


@pytest.fixture
def shown(opened: Opened, filled: Path) -> TestClient:
    """A browser on a page of what happened in `filled`, which has a token."""
    return opened(data_dir=filled, page_token=TOKEN).browser


@pytest.fixture
def page(opened: Opened) -> Page:
    """A page without a token."""
    return opened()


@pytest.fixture(scope="session")
def document() -> Any:
    """What a page says at `/openapi.json`."""
    settings = settings_alone(APPLICATION)
    return json.loads(json.dumps(described(page_of(settings), settings)))


@pytest.fixture(scope="module")
def served(filled: Path) -> Iterator[str]:
    """Return the address of a page that is served, without a slash at its end."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(serving, "page_of", partial(page_of, look=Looked()))
        settings = settings_alone(APPLICATION, data_dir=filled, page_token=TOKEN, page_port=0)
        with serving.Serving(settings) as page:
            yield page.url[:-1]


def text(answer: str) -> str:
    """Return what a page says, without its elements."""
    return " ".join(unescape(re.sub("<[^>]*>", " ", answer)).split())

"""A page of a read side that was filled in memory, and of facts as a test wants them."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from starlette.testclient import TestClient

from tests.application import APPLICATION
from tests.http.filled import fill
from verdict.adapters.sql.time_text import wall_clock
from verdict.http.application import page_of
from verdict.http.metrics import CODES
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
THEN = "2026-11-21T12:00:0{}.000Z"
P_7 = {"projection": "us_holder", "aggregate_type": "position", "aggregate_id": "p-7"}
LETTER: dict[str, Any] = {
    "topic": "order.commands", "partition": 0, "attempts": 5, "retry_topic": "retry",
    "headers": "[]", "received_at": THEN.format(0),
}  # fmt: skip
DECIDED: dict[str, list[dict[str, Any]]] = {
    "dead_letter_v1": [
        LETTER | {"id": "a-parked-letter", "offset": 90, "attempt": 5, "status": "PARKED"},
        LETTER
        | {"id": "a-waiting-letter", "offset": 91, "attempt": 2, "status": "WAITING"}
        | {"due_at": THEN.format(9)},
    ],
    "dead_letter_intervention_v1": [
        {
            "dead_letter_id": "a-parked-letter",
            "number": 1,
            "kind": "edit",
            "operator": "bob",
            "reason": "typo",
        }
        | {"at": THEN.format(2), "sha256": "00"},
    ],
    "skipped_record_v1": [
        {
            "topic": "order.events",
            "partition": 0,
            "offset": 5,
            "until_offset": 6,
            "operator": "ada",
            "kind": "SKIPPED",
        }
        | {"reason": "torn", "decided_at": THEN.format(1)},
    ],
    "projection_blocked_v1": [
        P_7
        | {"projection_version": 1, "version_needed": 2, "version_seen": 2}
        | {"found_at": THEN.format(0)},
    ],
    "projection_intervention_v1": [
        P_7
        | {"seq": 1, "version": 1, "event_version": 2, "kind": "replay", "operator": "cleo"}
        | {"at": THEN.format(3)},
    ],
}
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
    browsers: list[TestClient] = []

    def open_page(with_service: bool = False, **settings: object) -> Page:
        looked = Looked()
        page = page_of(
            settings_alone(APPLICATION, **({"data_dir": tmp_path} | settings)), looked, with_service
        )
        browser = TestClient(page, "http://127.0.0.1:8300", raise_server_exceptions=False)
        browsers.append(browser.__enter__())
        return Page(browser, looked)

    yield open_page
    for browser in browsers:
        browser.__exit__()


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


@pytest.fixture
def with_letters(filled: Path, tmp_path: Path) -> Path:
    """Return a data directory in which letters and an aggregate wait, and people decided."""
    folder = tmp_path / "with-letters"
    folder.mkdir()
    shutil.copy(filled / DATABASE, folder)
    with sqlite3.connect(folder / DATABASE) as database:
        for table, rows in DECIDED.items():
            for row in rows:
                names, marks = ", ".join(map('"{}"'.format, row)), ", ".join("?" * len(row))
                database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", [*row.values()])
    database.close()
    return folder

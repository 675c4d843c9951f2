"""One search finds whatever has an id, and leads there."""

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from tests.http.conftest import Opened, text
from tests.http.filled import FLOW, LATE, ODD, altered
from verdict.settings.discovery import DATABASE

NAMES = 'topic, "partition", "offset"'
LETTERS = (
    f"INSERT INTO dead_letter_v1 (id, {NAMES}, attempt, attempts, status, retry_topic, headers, "
    "received_at) VALUES ('parked', 'order.commands', 0, 90, 5, 5, 'PARKED', 'retry', '[]', 'x'), "
    "('waiting', 'order.commands', 0, 91, 2, 5, 'WAITING', 'retry', '[]', 'x')"
)
BLOCKED = (
    "INSERT INTO projection_blocked_v1 VALUES "
    "('us_holder', 1, 'position', 'p-7', 2, 2, '2026-11-21T12:00:00.000Z', NULL)"
)


def led_to(browser: TestClient, q: str) -> str:
    """Return where a search leads; empty: to a list."""
    answer = browser.get("/search", params={"q": q}, follow_redirects=False)
    return answer.headers.get("location", "")


def position(folder: Path, of: str) -> str:
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        [row] = database.execute(f"SELECT {NAMES} FROM {of}")
    return ":".join(map(str, row))


def test_an_id_that_one_thing_has_leads_there(shown: TestClient, filled: Path) -> None:
    event = position(filled, "event_archive WHERE aggregate_id = 'o-1' AND version = 2")
    command = position(filled, "outcome WHERE command_id = 'late'")

    assert led_to(shown, LATE) == led_to(shown, command) == f"/explain?id={LATE}"
    assert led_to(shown, FLOW) == f"/flow?id={FLOW}"
    assert led_to(shown, " inv-1 ") == "/aggregate?aggregate=invoice&id=inv-1"
    assert led_to(shown, event) == "/aggregate?aggregate=order&id=o-1&version=2"
    for path in ("/flow?id=inv-1", "/explain?id=inv-1"):  # taken for a flow or a command
        assert shown.get(path).url.path == "/aggregate"


def test_an_id_that_several_things_have_is_a_list(shown: TestClient) -> None:
    both = text(shown.get("/search", params={"q": ODD}).text)

    assert "command PlaceOrder to order <img" in both
    assert "aggregate order <img" in both


@pytest.mark.parametrize("q", ["nobody", "t:0:99999999999999999999", "::", "a:b:c", " "])
def test_what_nothing_has_is_not_found(shown: TestClient, q: str) -> None:
    said = text(shown.get(f"/search?{urlencode({'q': q})}").text)

    assert ("Nothing has this id" in said) is bool(q.strip())
    assert "flows (correlation ids), aggregates of the types enrolment, invoice, loyalty" in said


def test_dead_letters_and_blocked_aggregates_are_found(
    opened: Opened, filled: Path, tmp_path: Path
) -> None:
    browser = opened(data_dir=altered(tmp_path, LETTERS, BLOCKED, of=filled)).browser

    assert led_to(browser, "parked") == "/dead-letter?id=parked"
    assert led_to(browser, "order.commands:0:90") == "/dead-letter?id=parked"
    assert led_to(browser, "us_holder/position/p-7") == "/blocked?id=us_holder%2Fposition%2Fp-7"
    waits = text(browser.get("/search?q=waiting").text)
    assert "dead letter order.commands:0:91, waiting after attempt 2 of 5" in waits

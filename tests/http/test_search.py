"""One search finds whatever has an id, and leads there."""

import sqlite3
from pathlib import Path
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from tests.http.conftest import Opened, standing
from tests.http.filled import FLOW, LATE, ODD
from tests.http.test_pages import text
from verdict.settings.discovery import DATABASE


def led_to(browser: TestClient, q: str) -> str:
    """Return where a search leads; empty: to a list."""
    answer = browser.get("/search", params={"q": q}, follow_redirects=False)
    return answer.headers.get("location", "")


def value(folder: Path, query: str) -> object:
    with sqlite3.connect(folder / DATABASE) as database:
        [(found,)] = database.execute(query)
    database.close()
    return found


def test_an_id_that_one_thing_has_leads_there(shown: TestClient, filled: Path) -> None:
    version = "FROM event_archive WHERE aggregate_id = 'o-1' AND version = 2"
    place = value(filled, f"""SELECT topic || ':' || "partition" || ':' || "offset" {version}""")
    command = value(
        filled,
        """SELECT topic || ':' || "partition" || ':' || "offset" FROM outcome """
        "WHERE command_id = 'late'",
    )

    assert led_to(shown, LATE) == f"/explain?id={LATE}"
    assert led_to(shown, FLOW) == f"/flow?id={FLOW}"
    assert led_to(shown, " inv-1 ") == "/aggregate?aggregate=invoice&id=inv-1"
    assert led_to(shown, str(place)) == "/aggregate?aggregate=order&id=o-1&version=2"
    assert led_to(shown, str(command)) == f"/explain?id={LATE}"


def test_what_was_taken_for_a_flow_or_a_command_is_found(shown: TestClient) -> None:
    for path in ("/flow?id=inv-1", "/explain?id=inv-1"):
        assert shown.get(path).url.path == "/aggregate"


def test_an_id_that_several_things_have_is_a_list(shown: TestClient) -> None:
    both = text(shown.get("/search", params={"q": ODD}).text)

    assert "command PlaceOrder to order <img" in both
    assert "aggregate order <img" in both


def test_what_was_searched_is_said_when_nothing_is_found(opened: Opened, filled: Path) -> None:
    page = opened(data_dir=filled)
    page.looked.now = standing(lag=7)

    said = text(page.browser.get("/flow?id=nobody").text)
    assert "Nothing has this id. The tables are 7 records behind" in said
    assert "flows (correlation ids), aggregates of the types enrolment, invoice, loyalty" in said
    assert "topic:partition:offset" in said


@pytest.mark.parametrize("q", ["t:0:99999999999999999999", f"t:0:{2**63 - 1}", "::", "a:b:c", " "])
def test_what_is_no_place_is_an_id_like_any_other(shown: TestClient, q: str) -> None:
    assert shown.get(f"/search?{urlencode({'q': q})}").status_code == 200


def test_dead_letters_and_blocked_aggregates_are_found(opened: Opened, with_letters: Path) -> None:
    browser = opened(data_dir=with_letters).browser

    assert led_to(browser, "a-parked-letter") == "/dead-letter?id=a-parked-letter"
    assert led_to(browser, "order.commands:0:90") == "/dead-letter?id=a-parked-letter"
    assert led_to(browser, "us_holder/position/p-7") == ("/blocked?id=us_holder%2Fposition%2Fp-7")
    waits = text(browser.get("/search?q=a-waiting-letter").text)
    assert "dead letter order.commands:0:91, waits for attempt 2 of 5 at 2026-11-21" in waits

"""What is asked of the views is SQL on either database."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any
from urllib.parse import unquote

import pytest
from starlette.testclient import TestClient

from tests.application import APPLICATION
from tests.http.conftest import BEARER, TOKEN, Opened, text
from tests.http.filled import FLOW, LATE, ODD, PERSONAL, fill
from verdict.adapters.sql.readers.reader import Reader
from verdict.http import lists
from verdict.operations.status.read_side_status import ANSWERED
from verdict.read_side.catalog import projections
from verdict.read_side.schema.system_views import readable
from verdict.settings.database_address import SUPPORT

ROWS = {  # how many
    "/read/outcome?duplicate=false&_limit=3": 3, "/read/order_state?version=2": 2,
    "/read/event_archive?aggregate_type=order&_offset=1": 4,
    "/read/outcome?decided_at=2020-01-01T00:00:00Z": 0,
}  # fmt: skip
PAGES = {  # what they say
    "/": "ACCEPTED", "/sql": "Views", "/rates": "accepted", "/search?q=o-1": "o-1",
    "/rejections?reason=VERSION_CONFLICT": "OrderFilled by its command",
    "/aggregate?aggregate=order&id=o-1&version=1": "At version 1 of 2", f"/flow?id={FLOW}": FLOW,
    f"/explain?id={LATE}": LATE, "/aggregates?type=order": "gone 2 DELETED",
    "/commands?outcome=BUSINESS_RULE&rule_code=OVERFILL&actor=ada&since=2020-01-01T00:00":
        "BUSINESS_RULE OVERFILL FillOrder order o-1 ada",
    "/commands?correlation_id=orders": "order o-1", "/events?actor=policy:award_points":
        "PointsAwarded", "/events?aggregate_type=order&event_type=OrderFilled&until=2100-01-01":
        "order o-1", "/commands?aggregate_type=order&aggregate_id=o-1": "ada",
    "/search?q=order.events:0:0": "order",
}  # fmt: skip
COUNTED = "/sql?q=select+count(*)+from+outcome"
ANSWERS = {
    "ACCEPTED": 7, "VERSION_CONFLICT": 2, "ALREADY_EXISTS": 2, "BUSINESS_RULE": 1, "NOT_FOUND": 1,
}  # fmt: skip


@pytest.fixture
def url(new_database: Callable[[], str]) -> str:
    """The address of a database with the read side of what happened in `filled`."""
    url = new_database()
    fill(url)
    return url


@pytest.fixture
def browser(url: str, opened: Opened) -> TestClient:
    return opened(database_url=url, page_token=TOKEN).browser


@pytest.mark.both_databases
def test_pages_and_answers_are_the_same(browser: TestClient) -> None:
    def asked(path: str) -> Any:
        answer = browser.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    said = {path: text(browser.get(path).text) for path in PAGES}
    assert {path: said[path] for path, wanted in PAGES.items() if wanted not in said[path]} == {}
    assert {path: len(asked(path)["rows"]) for path in ROWS} == ROWS
    assert asked(next(iter(ROWS)))["next"].endswith("_limit=3&_offset=3")
    assert asked("/state/order/o-1?at_version=1")["state"]["quantity"] == 10
    assert len(asked("/history/invoice/inv-1?_limit=1&_offset=1")["commands"]) == 1
    assert asked(f"/trace/{FLOW}")["commands"][0]["events"][0]["asked"] != []
    assert asked(f"/explain/{LATE}")["records"]
    assert " 13 Views" in text(browser.get(COUNTED, headers=BEARER).text)


@pytest.mark.both_databases
def test_pages_of_a_list_have_every_row_once(
    browser: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "ROWS", 2)

    assert len({*followed(browser, "/commands", r"/explain\?id=([^\"]+)")}) == 13
    assert len(followed(browser, "/commands", r"/explain\?id=([^\"]+)")) == 13
    assert len(followed(browser, "/events", r"/explain\?id=")) == 7
    names = followed(browser, "/aggregates?type=order", r"id=([^\"]+)\"><bdi>")
    assert [*map(unquote, names)] == [ODD.replace(" ", "+"), "gone", "o-1"]


def followed(browser: TestClient, path: str | None, pattern: str) -> list[str]:
    """Return what all pages of a list have, from one link to the next."""
    found = []
    while path:
        page = browser.get(path).text
        found += re.findall(pattern, page)
        following = re.search(r'href="([^"]+)">(?:older|next)', page)
        path = following and unescape(following[1])
    return found


@pytest.mark.both_databases
def test_answers_of_the_last_minute_are_counted_by_outcome(url: str) -> None:
    with Reader(url, readable(projections(APPLICATION)), SUPPORT) as reader:
        since = ("2020-01-01T00:00:00.000Z", "2100-01-01T00:00:00.000Z")
        whole, nothing = (dict(reader.select(ANSWERED, {"since": at}).rows) for at in since)

    assert (whole, nothing) == (ANSWERS, {})


@pytest.mark.both_databases
def test_what_is_personal_needs_the_token(browser: TestClient) -> None:
    for path in ("/read/event_archive", f"/trace/{FLOW}", "/aggregate?aggregate=invoice&id=inv-1"):
        masked, whole = browser.get(path).text, browser.get(path, headers=BEARER).text
        assert not [one for one in PERSONAL if one in masked]
        assert [one for one in PERSONAL if one in whole] == [*PERSONAL]
    assert browser.get("/read/dead_letter").status_code == 401
    assert browser.get("/read/dead_letter", headers=BEARER).json() == {"rows": [], "next": None}

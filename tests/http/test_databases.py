"""What is asked of the views is SQL on either database."""

import re
from collections.abc import Callable
from html import unescape
from urllib.parse import unquote

import pytest
from starlette.testclient import TestClient

from tests.application import APPLICATION
from tests.http.conftest import BEARER, TOKEN, Opened
from tests.http.filled import FLOW, LATE, ODD, PERSONAL, fill
from tests.http.test_pages import text
from verdict.adapters.sql.readers.reader import Reader
from verdict.http import lists
from verdict.operations.status.read_side_status import ANSWERED
from verdict.read_side.catalog import projections
from verdict.read_side.schema.system_views import readable
from verdict.settings.database_address import SUPPORT

JSON = [
    "/state/order/o-1?at_version=1", "/history/invoice/inv-1?_limit=1&_offset=1",
    f"/trace/{FLOW}", f"/explain/{LATE}",
    "/read/outcome?duplicate=false&_limit=3", "/read/order_state?version=2",
    "/read/event_archive?aggregate_type=order&_offset=1",
    "/read/outcome?decided_at=2020-01-01T00:00:00Z",
]  # fmt: skip
HTML = [
    "/", "/rejections?reason=VERSION_CONFLICT", "/aggregate?aggregate=order&id=o-1&version=1",
    f"/flow?id={FLOW}", f"/explain?id={LATE}", "/sql", "/rates",
    "/commands?outcome=BUSINESS_RULE&rule_code=OVERFILL&actor=ada&since=2020-01-01T00:00",
    "/commands?aggregate_type=order&aggregate_id=o-1", "/commands?correlation_id=orders",
    "/events?aggregate_type=order&event_type=OrderFilled&until=2100-01-01",
    "/aggregates?type=order", "/events?actor=policy:award_points", "/audit", "/search?q=o-1",
    "/search?q=order.events:0:0",
]  # fmt: skip
COUNTED = "/sql?q=select+count(*)+from+outcome"
ANSWERS = {
    "ACCEPTED": 7, "VERSION_CONFLICT": 2, "ALREADY_EXISTS": 2, "BUSINESS_RULE": 1, "NOT_FOUND": 1,
}  # fmt: skip


@pytest.mark.both_databases
def test_pages_and_answers_are_the_same(new_database: Callable[[], str], opened: Opened) -> None:
    url = new_database()
    fill(url)
    browser = opened(database_url=url, page_token=TOKEN).browser

    told = {path: browser.get(path) for path in (*JSON, *HTML)}
    assert "<td>13</td>" in browser.get(COUNTED, headers=BEARER).text.replace(' class="n"', "")
    assert {path: one.text for path, one in told.items() if one.status_code != 200} == {}
    assert told[JSON[0]].json()["state"]["quantity"] == 10
    assert len(told[JSON[1]].json()["commands"]) == 1
    assert told[f"/trace/{FLOW}"].json()["commands"][0]["events"][0]["asked"] != []
    assert [len(told[path].json()["rows"]) for path in JSON[4:]] == [3, 2, 4, 0]
    assert told[JSON[4]].json()["next"].endswith("_limit=3&_offset=3")
    assert "ACCEPTED" in told["/"].text
    assert "BUSINESS_RULE" in told["/rejections?reason=VERSION_CONFLICT"].text
    assert "OrderFilled by" in told["/rejections?reason=VERSION_CONFLICT"].text
    for path in ("/audit", "/events", "/search?q=order.commands:0:0"):
        assert "not checked" not in browser.get(path, headers=BEARER).text
        assert browser.get(path, headers=BEARER).status_code == 200
    listed = {path: text(one.text) for path, one in told.items() if path in HTML}
    assert "BUSINESS_RULE OVERFILL FillOrder order o-1 ada" in listed[HTML[7]]
    assert [listed[path].count("order o-1") for path in HTML[8:11]] == [4, 2, 1]
    assert "gone 2 DELETED" in listed[HTML[11]]
    assert "PointsAwarded" in listed[HTML[12]]


@pytest.mark.both_databases
def test_pages_of_a_list_have_every_row_once(
    new_database: Callable[[], str], opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "ROWS", 2)
    url = new_database()
    fill(url)
    browser = opened(database_url=url, page_token=TOKEN).browser

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
def test_answers_of_the_last_minute_are_counted_by_outcome(
    new_database: Callable[[], str],
) -> None:
    url = new_database()
    fill(url)

    with Reader(url, readable(projections(APPLICATION)), SUPPORT) as reader:
        since = ("2020-01-01T00:00:00.000Z", "2100-01-01T00:00:00.000Z")
        whole, nothing = (dict(reader.select(ANSWERED, {"since": at}).rows) for at in since)

    assert (whole, nothing) == (ANSWERS, {})


@pytest.mark.both_databases
def test_what_is_personal_needs_the_token(new_database: Callable[[], str], opened: Opened) -> None:
    url = new_database()
    fill(url)
    browser = opened(database_url=url, page_token=TOKEN).browser

    for path in ("/read/event_archive", f"/trace/{FLOW}", "/aggregate?aggregate=invoice&id=inv-1"):
        masked, whole = browser.get(path).text, browser.get(path, headers=BEARER).text
        assert not [one for one in PERSONAL if one in masked]
        assert [one for one in PERSONAL if one in whole] == [*PERSONAL]
    assert browser.get("/read/dead_letter").status_code == 401
    assert browser.get("/read/dead_letter", headers=BEARER).json() == {"rows": [], "next": None}

"""What people see of it, and what they do not."""

import re
from html import unescape
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from tests.http.conftest import BEARER, TOKEN, Opened, Page, standing, text
from tests.http.filled import FLOW, LATE, ODD, PERSONAL, altered
from verdict.http.pages import WITHOUT_TOKEN
from verdict.http.site import NOTHING
from verdict.operations.status.status import (
    BlockedAggregateStatus,
    Problem,
    ProjectionStatus,
    VerificationStatus,
)

EVERY = [
    "/", "/live", "/attention", "/rates", "/rates/live", "/rejections", "/sql", "/audit",
    "/rejections?reason=DELETED", "/application", "/sql?q=select+1", "/commands", "/events",
    "/events?actor=nobody",
    "/commands?outcome=BUSINESS_RULE", "/aggregates", "/aggregates?type=invoice&start=z", "/search",
    "/search?q=o-1", "/search?q=nobody", "/search?q=order.commands:0:1", "/flow?id=nobody",
    "/aggregate?aggregate=order&id=o-1", "/aggregate?aggregate=order&id=o-1&from=0&version=2",
    "/aggregate?aggregate=order&id=gone", "/aggregate?aggregate=x&id=y", f"/explain?id={LATE}",
    *(
        f"{path}?{urlencode({'aggregate': 'order', name: ODD})}"
        for path, name in [
            ("/", "id"), ("/flow", "id"), ("/explain", "id"), ("/aggregate", "id"), ("/sql", "q"),
            ("/rejections", "reason"), ("/search", "q"), ("/commands", "aggregate_id"),
            ("/events", "actor"), ("/aggregates", "start"),
        ]
    ),
]  # fmt: skip
COUNTING = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"
VOID = {"meta", "link", "input", "br", "img"}


class Elements(HTMLParser):
    """Reads a page: which elements it has, and whether each is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.events: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.events |= {name for name, _ in attrs if name.startswith("on")}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.proves("S-05")
@pytest.mark.parametrize("path", EVERY)
def test_every_page_is_whole_and_nothing_of_others_is_an_element(
    shown: TestClient, path: str
) -> None:
    answer = shown.get(path)
    found = Elements(answer.text)

    assert answer.status_code == 200
    assert found.open == []
    assert found.names.isdisjoint({"img", "iframe", "object", "style"})
    assert found.events == set()
    assert "\u202e" not in answer.text
    assert answer.text.count('class="wide"') == answer.text.count('class="wide" tabindex="0"')
    assert "<th></th>" not in answer.text  # as screen readers name cells by it


@pytest.mark.parametrize("path", EVERY)
def test_where_nothing_ever_ran_every_page_says_so(opened: Opened, path: str) -> None:
    page = opened()
    page.looked.find(service=None, commands=None, decider=None, projections=None, dead_letters=None)

    answer = page.browser.get(path, headers={"accept": "text/html"})
    assert answer.status_code in (200, 503)
    assert Elements(answer.text).open == []
    assert answer.status_code == 200 or "no read side" in answer.text


def test_the_overview_shows_the_path_from_commands_to_projections(opened: Opened) -> None:
    page = opened(deployment="till-north")
    page.looked.now = standing(decided=5, end=1205)
    run = VerificationStatus("2026-11-21T09:00:00.000Z", None, None, False, 3)
    page.looked.find(verified=run)

    said = text(page.browser.get("/").text)
    assert f"deployment till-north, verdict {version('verdict-cqrs')}" in said
    assert "verified 2026-11-21T09:00:00.000Z : 3 findings" in said
    assert "All is well" in said
    assert "Commands 1,200 wait sent 1,205" in said
    assert "outcome 1 runs 0" in said


def test_problems_are_texts_in_one_colour(opened: Opened) -> None:
    page = opened()
    held = BlockedAggregateStatus("order", ODD, 3, 5, "2026-11-21T09:00:00.000Z", None)
    page.looked.find(
        problems=(Problem("2 dead letters are parked: see `verdict blocked list`"),),
        projections=(ProjectionStatus("outcome", 1, "live", 0, "why", (held,), ()),),
    )

    answer = page.browser.get("/live").text
    assert 'class="verdict amber"' in answer
    assert "Something needs attention" in answer
    link = '<a href="/attention" title="verdict blocked list">Needs attention</a>'
    assert f"2 dead letters are parked: see {link}" in answer
    assert "needs version" in answer
    assert Elements(answer).names.isdisjoint({"img"})


def test_an_aggregate_has_its_rejections_and_its_state_at_any_two_versions(
    shown: TestClient,
) -> None:
    at = "/aggregate?aggregate=order&id=o-1"
    first, both, last = (text(shown.get(at + more).text) for more in ("&version=1", "&from=0", ""))

    assert "At version 1 of 2: ACTIVE" in first
    assert "hash chain intact" in first
    assert "field at version 0 at version 1" in first
    assert f"filled {NOTHING} 0" in first
    assert "ModifyOrder VERSION_CONFLICT expected version 1" in first
    assert "FillOrder BUSINESS_RULE" in first
    assert "2 OrderFilled quantity 4, price_cents 1 from the columns of the archive" in first
    assert "filled 0 4" in last
    assert "field at version 0 at version 2" in both
    assert f"filled {NOTHING} 4" in both
    assert shown.get(f"{at}&from=-1", headers={"accept": "text/html"}).status_code == 422


@pytest.mark.parametrize("given", [{}, BEARER])
def test_where_an_event_was_altered_all_are_shown_and_which(
    opened: Opened, filled: Path, tmp_path: Path, given: dict[str, str]
) -> None:
    forged = (
        "UPDATE event_archive_v1 SET value = CAST(value || 'x' AS BLOB) "
        "WHERE aggregate_id = 'o-1' AND version = 1"
    )
    browser = opened(data_dir=altered(tmp_path, forged, of=filled), page_token=TOKEN).browser
    said = text(browser.get("/aggregate?aggregate=order&id=o-1", headers=given).text)
    assert "order 'o-1'" in said
    assert "2 OrderFilled quantity 4" in said
    assert "hash chain intact" not in said


def test_rates_are_lines_up_to_now_and_the_same_in_numbers(shown: TestClient) -> None:
    said, data = text(shown.get("/rates").text), shown.get("/rates/data").json()
    outcomes, rejections, latency, lag, _ = data["charts"]
    lines = {one["name"]: one["values"] for one in (*outcomes["series"], *rejections["series"])}

    assert len(data["times"]) == 180
    assert (sum(lines["accepted"]), sum(lines["rejected"])) == (7, 6)
    assert sum(lines["VERSION_CONFLICT"]) == 2
    assert [one for one in latency["series"][1]["values"] if one] == [90, 1200]
    components = [one["name"] for one in lag["series"]]
    assert components == ["dead-letters", "decider", "outcome", "policies"]
    seen = lag["series"][0]["values"]
    assert (seen[0], seen[-1]) == (None, 0)  # there is no sample of three hours ago
    assert f"Latency, ms 99 of 100 within {NOTHING} 1,200" in said
    assert "half decided in 30 ms 99 of 100 in 1,200 ms" in text(shown.get("/").text)


def test_rates_say_what_is_not_known(page: Page, opened: Opened, filled: Path) -> None:
    page.looked.now = standing(decided=5, end=1205)
    behind = opened(data_dir=filled)
    behind.looked.now = standing(lag=12)

    said = text(page.browser.get("/rates").text)
    assert "Outcomes are not counted: no read side can be read" in said
    assert f"accepted {NOTHING} {NOTHING}" in said
    assert "Lag, records decider 1,200 1,200" in said
    assert "outcome is 12 records behind" in text(behind.browser.get("/rates").text)


@pytest.mark.proves("S-05")
@pytest.mark.parametrize("path", [f"/flow?id={FLOW}", "/sql?q=select+*+from+event_archive"])
def test_what_is_personal_is_seen_with_the_token_alone(shown: TestClient, path: str) -> None:
    assert not [one for one in PERSONAL if one in shown.get(path).text]
    assert shown.post("/token", content="token=wrong").status_code == 403
    assert not [one for one in PERSONAL if one in shown.get(path).text]

    entered = shown.post("/token", data={"token": TOKEN})
    assert entered.status_code == 200
    cookie = entered.history[0].headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert [one for one in PERSONAL if one in shown.get(path).text] == [*PERSONAL]

    shown.post("/token", content="token=")
    assert not [one for one in PERSONAL if one in shown.get(path).text]


@pytest.mark.parametrize("query", ["delete from outcome", "select 1; select 2"])
def test_a_query_reads_the_views_and_nothing_else(shown: TestClient, query: str) -> None:
    answer = shown.get("/sql", params={"q": query}, headers=BEARER)

    assert 'class="verdict red"' in answer.text
    assert "<h2>Views" in answer.text


@pytest.mark.proves("S-05")
@pytest.mark.parametrize("token", [{}, {"page_token": TOKEN}])
def test_a_query_needs_the_token(opened: Opened, filled: object, token: dict[str, str]) -> None:
    answer = opened(data_dir=filled, **token).browser.get("/sql?q=select+41000041%2B1")

    assert WITHOUT_TOKEN in unescape(answer.text)
    assert "41000042" not in answer.text


def test_of_a_query_without_an_end_the_first_rows_are_shown_or_it_is_ended(
    opened: Opened, filled: object
) -> None:
    browser = opened(data_dir=filled, sql_timeout_s=1, page_token=TOKEN).browser
    rows, counted = (
        browser.get("/sql", params={"q": f"{COUNTING} {what} FROM n"}, headers=BEARER).text
        for what in ("i", "max(i)")
    )

    assert "200 rows, there are more" in rows
    assert "the query was ended after 1 s" in counted


def test_what_a_page_loads_is_ours_and_there(shown: TestClient) -> None:
    loaded = re.findall(r'(?:src|href)="([^"?]+)"', shown.get("/").text)

    assert {shown.get(one).status_code for one in loaded} == {200}
    assert all(one.startswith("/") for one in loaded)

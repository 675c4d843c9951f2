"""What people see of it, and what they do not."""

import re
from html import unescape
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from tests.http.conftest import BEARER, TOKEN, Opened, Page, standing
from tests.http.filled import FLOW, LATE, ODD, PERSONAL, altered
from verdict.adapters.sql.time_text import wall_clock
from verdict.http.pages import WITHOUT_TOKEN
from verdict.http.templating import NOTHING
from verdict.operations.status.status import BlockedAggregateStatus, Problem, VerificationStatus

EVERY = [
    "/", "/live", "/rates", "/rejections", "/rejections?reason=BUSINESS_RULE", "/flow", "/sql",
    "/application", "/rates/live", "/commands", "/commands?outcome=BUSINESS_RULE", "/events",
    "/events?actor=nobody", "/aggregates", "/aggregates?type=invoice&start=z", "/audit",
    "/search", "/search?q=o-1", "/search?q=nobody", "/search?q=order.commands:0:1",
    "/flow?id=nobody",
    "/aggregate?aggregate=order&id=o-1", "/aggregate?aggregate=order&id=o-1&version=1",
    "/aggregate?aggregate=order&id=o-1&from=0&version=2",
    "/aggregate?aggregate=order&id=gone", "/aggregate?aggregate=order&id=nobody",
    "/aggregate?aggregate=x&id=y",
    f"/explain?id={LATE}", "/explain?id=nobody", "/sql?q=select+1",
    "/?" + urlencode({"id": ODD}), "/flow?" + urlencode({"id": ODD}),
    "/explain?" + urlencode({"id": ODD}),
    "/aggregate?" + urlencode({"aggregate": "order", "id": ODD}),
    "/sql?" + urlencode({"q": ODD}), "/rejections?" + urlencode({"reason": ODD}),
    "/search?" + urlencode({"q": ODD}), "/commands?" + urlencode({"aggregate_id": ODD}),
    "/events?" + urlencode({"actor": ODD}), "/aggregates?" + urlencode({"start": ODD}),
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


def text(answer: str) -> str:
    """Return what a page says, without its elements."""
    return " ".join(unescape(re.sub("<[^>]*>", " ", answer)).split())


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
    assert answer.status_code == 200 or "no read side can be read" in answer.text


def test_the_path_is_shown_from_commands_to_read_models(opened: Opened) -> None:
    page = opened()
    page.looked.now = standing(decided=5, end=1205)

    said = text(page.browser.get("/live").text)
    assert "All is well" in said
    assert "Commands 1,200 wait sent 1,205" in said
    assert "outcome 1 runs 0" in said


def test_problems_are_texts_in_one_colour(opened: Opened) -> None:
    page = opened()
    held = BlockedAggregateStatus("order", ODD, 3, 5, "2026-11-21T09:00:00.000Z", None)
    [model] = page.looked.now.projections or ()
    page.looked.find(
        problems=(Problem("2 dead letters are parked"),),
        projections=(type(model)("outcome", 1, "live", 0, "why", (held,), ()),),
    )

    answer = page.browser.get("/live").text
    assert 'class="verdict amber"' in answer
    assert "Something needs attention" in answer
    assert "2 dead letters are parked" in answer
    assert "needs version" in answer
    assert Elements(answer).names.isdisjoint({"img"})


def test_a_hint_leads_to_the_page_that_does_it(opened: Opened) -> None:
    page = opened()
    said = f"see `verdict blocked list`, or `verdict recover {ODD}`"
    page.looked.find(problems=(Problem(f"2 dead letters are parked: {said}"),))

    answer = page.browser.get("/live").text
    link = '<a href="/attention" title="verdict blocked list">Needs attention</a>'
    assert f"2 dead letters are parked: see {link}, or `verdict recover &lt;img" in answer


def test_a_page_names_deployment_and_version_and_what_it_verified(opened: Opened) -> None:
    page = opened(deployment="till-north")
    run = VerificationStatus("2026-11-21T09:00:00.000Z", None, None, False, 3)
    page.looked.find(verified=run)

    said = text(page.browser.get("/").text)
    assert f"deployment till-north, verdict {version('verdict-cqrs')}" in said
    assert "verified 2026-11-21T09:00:00.000Z : 3 findings" in said


def test_a_life_has_the_refused_too_and_the_state_at_any_version(shown: TestClient) -> None:
    said = text(shown.get("/aggregate?aggregate=order&id=o-1&version=1").text)

    assert "At version 1 of 2: ACTIVE" in said
    assert "hash chain intact" in said
    assert "field at version 0 at version 1" in said
    assert f"filled {NOTHING} 0" in said
    assert "ModifyOrder VERSION_CONFLICT expected version 1" in said
    assert "FillOrder BUSINESS_RULE" in said
    assert "2 OrderFilled quantity 4, price_cents 1 from the columns of the archive" in said
    assert "filled 0 4" in text(shown.get("/aggregate?aggregate=order&id=o-1").text)


def test_any_two_versions_are_side_by_side(shown: TestClient) -> None:
    said = text(shown.get("/aggregate?aggregate=order&id=o-1&from=0&version=2").text)

    assert "field at version 0 at version 2" in said
    assert f"filled {NOTHING} 4" in said
    gone = "/aggregate?aggregate=order&id=o-1&from=-1"
    assert "there is no version -1" in shown.get(gone, headers={"accept": "text/html"}).text


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


def test_refusals_are_grouped_by_reason(shown: TestClient) -> None:
    said = text(shown.get("/rejections?reason=VERSION_CONFLICT").text)

    assert "BUSINESS_RULE order FillOrder 1" in said
    assert "ada OVERFILL cannot fill" in text(shown.get("/rejections?reason=BUSINESS_RULE").text)
    assert (
        "expected version 1, order 'o-1' is ACTIVE at version 2 OrderFilled by its command" in said
    )


def test_rates_are_lines_up_to_now_and_the_same_in_numbers(shown: TestClient) -> None:
    said, data = text(shown.get("/rates").text), shown.get("/rates/data").json()
    outcomes, rejections, latency, lag, _ = data["charts"]
    lines = {one["name"]: one["values"] for one in (*outcomes["series"], *rejections["series"])}

    assert (len(data["times"]), data["times"][-1]) == (180, wall_clock() // 60_000 * 60)
    assert (sum(lines["accepted"]), sum(lines["rejected"])) == (7, 6)
    assert sum(lines["VERSION_CONFLICT"]) == 2
    assert [one for one in latency["series"][1]["values"] if one] == [90, 1200]
    assert [one["name"] for one in lag["series"]] == [
        "dead-letters",
        "decider",
        "outcome",
        "policies",
    ]
    seen = lag["series"][0]["values"]
    assert (seen[0], seen[-1]) == (None, 0)  # there is no sample of three hours ago
    assert f"Latency, ms 99 of 100 within {NOTHING} 1,200" in said
    assert "half decided in 30 ms 99 of 100 in 1,200 ms" in text(shown.get("/").text)


def test_rates_show_what_looks_found_while_the_database_is_away(page: Page) -> None:
    page.looked.now = standing(decided=5, end=1205)

    said = text(page.browser.get("/rates").text)
    assert "Outcomes are not counted: no read side can be read" in said
    assert f"accepted {NOTHING} {NOTHING}" in said
    assert "Lag, records decider 1,200 1,200" in said


def test_rates_say_when_the_newest_outcomes_are_not_there_yet(opened: Opened, filled: Path) -> None:
    page = opened(data_dir=filled)
    page.looked.now = standing(lag=12)

    assert "outcome is 12 records behind" in text(page.browser.get("/rates").text)


@pytest.mark.proves("S-05")
@pytest.mark.parametrize(
    "path",
    [
        "/aggregate?aggregate=invoice&id=inv-1",
        f"/flow?id={FLOW}",
        "/sql?q=select+*+from+event_archive",
    ],
)
def test_what_is_personal_is_seen_with_the_token_alone(shown: TestClient, path: str) -> None:
    assert not [one for one in PERSONAL if one in shown.get(path).text]
    assert shown.post("/token", content="token=wrong").status_code == 403
    assert not [one for one in PERSONAL if one in shown.get(path).text]

    entered = shown.post("/token", content=f"token={TOKEN.replace(' ', '+')}")
    assert entered.status_code == 200
    cookie = entered.history[0].headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert [one for one in PERSONAL if one in shown.get(path).text] == [*PERSONAL]

    shown.post("/token", content="token=")
    assert not [one for one in PERSONAL if one in shown.get(path).text]


@pytest.mark.parametrize(
    "query",
    [
        "delete from outcome", "select * from outcome_v1", "drop view outcome",
        "select 1; select 2", "attach 'x' as y",
    ],
)  # fmt: skip
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


def test_a_query_without_an_end_is_ended(opened: Opened, filled: object) -> None:
    page = opened(data_dir=filled, sql_timeout_s=1, page_token=TOKEN)
    answer = page.browser.get("/sql", params={"q": f"{COUNTING} max(i) FROM n"}, headers=BEARER)

    assert "the query was ended after 1 s" in answer.text


def test_of_many_rows_the_first_are_shown(shown: TestClient) -> None:
    answer = shown.get("/sql", params={"q": f"{COUNTING} i FROM n"}, headers=BEARER)

    assert "200 rows, there are more" in answer.text


def test_what_a_page_loads_is_ours_and_there(shown: TestClient) -> None:
    loaded = re.findall(r'(?:src|href)="([^"?]+)"', shown.get("/").text)

    assert {shown.get(one).status_code for one in loaded} == {200}
    assert all(one.startswith("/") for one in loaded)

"""What waits, on the page: who sees it, who decides, and what is kept of that."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from schemas.position import PositionTransferred
from tests.http.conftest import TOKEN, Opened
from tests.http.filled import PLACE, keep
from tests.read_side.holding import Holding
from tests.read_side.test_policy_rejection import shop
from verdict.settings.discovery import DATABASE
from verdict.testing import InMemory

HTML = {"accept": "text/html"}
P7 = "us_holder/position/p-7"
AT = f"/blocked?{urlencode({'id': P7})}"
BY = {"operator": "ada", "reason": "a test", "token": TOKEN}


@pytest.fixture
def lot(tmp_path: Path) -> Iterator[Holding]:
    """Return one that holds p-7, whose new owner fixed code could take."""
    lot = Holding(f"sqlite:///{tmp_path / DATABASE}")
    lot.hold("p-7", PositionTransferred(client="bob"))
    yield lot
    lot.close()


@pytest.fixture
def browser(opened: Opened, lot: Holding) -> TestClient:
    """A browser on a page with a token, which it has not given yet."""
    return opened(page_token=TOKEN).browser


def test_what_waits_is_listed_and_shown_without_what_is_personal(browser: TestClient) -> None:
    listed = browser.get("/attention", headers=HTML).text
    shown = browser.get(AT, headers=HTML).text

    assert P7 in listed
    assert AT.replace("&", "&amp;") in listed
    assert "PositionTransferred" in shown
    assert "mallory" not in shown.partition("Payload")[2]
    browser.post("/token", data={"token": TOKEN})
    assert "mallory" in browser.get(AT, headers=HTML).text.partition("Payload")[2]


@pytest.mark.proves("B-09")
@pytest.mark.parametrize(
    ("action", "kind", "said"),
    [("retry", "replay", "is applied"), ("skip", "evict", "is passed over")],
)
def test_a_token_holder_retries_or_skips_and_that_is_recorded(
    browser: TestClient, lot: Holding, action: str, kind: str, said: str
) -> None:
    answer = browser.post(AT, data=BY | {"action": action}, headers=HTML)

    assert f"{P7} {said}" in answer.text
    assert "No aggregate is blocked" in answer.text
    assert lot.interventions(("kind", "operator", "reason")) == [(kind, "ada", "a test")]


@pytest.mark.proves("S-05")
@pytest.mark.parametrize("token", ["", "not the token at all", "\u0442\u043e"])
def test_a_form_without_the_token_does_nothing_whatever_the_browser_keeps(
    browser: TestClient, opened: Opened, lot: Holding, token: str
) -> None:
    form = BY | {"action": "skip", "token": token}
    browser.post("/token", data={"token": TOKEN})

    answer = browser.post(AT, data=form, headers=HTML)
    without_token = opened().browser.post(AT, data=form, headers=HTML)

    assert (answer.status_code, without_token.status_code) == (401, 401)
    assert "nothing was done" in answer.text
    assert "page_token: set it" in without_token.text
    assert lot.interventions(("kind",)) == []


@pytest.mark.parametrize(
    ("form", "status", "said"),
    [
        ({"action": "skip", "reason": " "}, 400, "name the operator and give the reason"),
        ({"action": "retry", "operator": ""}, 400, "name the operator and give the reason"),
        ({"action": "burn"}, 400, "&#39;burn&#39; is none of retry, skip"),
        ({"action": "skip", "reason": "x" * 9_000}, 413, "this takes at most 8192 bytes"),
    ],
)
def test_an_incomplete_form_is_refused_and_does_nothing(
    browser: TestClient, lot: Holding, form: dict[str, str], status: int, said: str
) -> None:
    answer = browser.post(AT, data=BY | form, headers=HTML)

    assert answer.status_code == status
    assert said in answer.text
    assert lot.interventions(("kind",)) == []


def test_what_does_not_wait_is_not_there(browser: TestClient) -> None:
    for path, id in (
        ("/blocked", "us_holder/position/p-8"), ("/blocked", "nothing"), ("/blocked", "\0"),
        ("/dead-letter", "nothing"), ("/record", "order.events:0:7"), ("/record", "/letter"),
    ):  # fmt: skip
        shown = browser.get(path, params={"id": id}, headers=HTML)
        skipped = browser.post(f"{path}?{urlencode({'id': id})}", data=BY | {"action": "skip"})

        assert (shown.status_code, skipped.status_code) == (404, 404)


@pytest.mark.proves("X-01")
def test_rejected_commands_of_policies_are_listed_with_their_cause_page_by_page(
    opened: Opened, tmp_path: Path
) -> None:
    with InMemory(shop("OVERFILL", "INVALID_COMMAND")) as memory:
        for number in range(60):
            memory.send(f"o-{number}", PLACE, 0, correlation_id=f"flow-{number}")
        keep(memory, f"sqlite:///{tmp_path / DATABASE}")
    browser = opened().browser

    first, second = (browser.get(f"/attention?offset={at}", headers=HTML).text for at in (0, 50))
    ids = [re.findall(r"/flow\?id=(flow-\d+)", page) for page in (first, second)]

    assert [*map(len, ids)] == [50, 10]
    assert len({*ids[0], *ids[1]}) == 60
    assert "/attention?offset=50" in first
    assert "/attention?offset=0" in second
    assert "/attention?offset=100" not in second
    assert "OrderPlaced of" in first
    assert "/aggregate?aggregate=order&amp;id=o-7&amp;version=1" in first + second
    command_id = re.findall(r"/explain\?id=([^\"]+)", second)[0]
    assert "NOT_FOUND" in browser.get(f"/explain?id={command_id}", headers=HTML).text

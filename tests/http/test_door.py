"""S-05: what pages of others, strangers and the careless get."""

import threading
from http import HTTPStatus

import pytest
from starlette.testclient import TestClient

from tests.http.conftest import TOKEN, Opened, Page
from tests.http.filled import PERSONAL
from verdict.http.auth import COOKIE
from verdict.http.pages import FOREIGN
from verdict.operations.status.status import StatusReport

INVOICE = "/aggregate?aggregate=invoice&id=inv-1"


@pytest.mark.proves("S-05")
def test_only_the_names_of_the_page_are_served(opened: Opened) -> None:
    """Another name could be that of a foreign page, made to point here."""
    browser = opened(allowed_hosts=("v.example",)).browser
    ours = ("127.0.0.1:8300", "localhost", "[::1]:80", "10.0.0.7", "v.example")
    foreign = ("evil.example", "evil.example:8300", "127.0.0.1.evil.example", "")

    assert {browser.get("/livez", headers={"host": one}).status_code for one in ours} == {200}
    for one in foreign:
        answer = browser.get("/status", headers={"host": one})
        assert (answer.status_code, "allowed_hosts" in answer.text) == (421, True)


@pytest.mark.proves("S-05")
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_of_somebody_else_may_link_to_us_and_no_more(shown: TestClient, site: str) -> None:
    there = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}
    link = {"sec-fetch-site": site, "sec-fetch-mode": "navigate"}

    refused = shown.get("/sql?q=select+1", headers=there)
    assert refused.status_code == HTTPStatus.FORBIDDEN
    assert "frame-ancestors 'none'" in refused.headers["content-security-policy"]
    assert "access-control-allow-origin" not in refused.headers
    assert shown.get("/", headers=link).status_code == HTTPStatus.OK
    assert FOREIGN in shown.get("/sql?q=select+41%2B1", headers=link).text
    form = shown.post("/token", content=f"token={TOKEN}", headers=link)
    assert form.status_code == HTTPStatus.FORBIDDEN


@pytest.mark.parametrize(
    ("origin", "status"),
    [("https://evil.example", 403), ("null", 403), ("http://127.0.0.1:8300", 200)],
)
def test_a_browser_that_names_the_origin_only_is_known_by_it(
    shown: TestClient, origin: str, status: int
) -> None:
    answer = shown.post("/token", data={"token": TOKEN}, headers={"origin": origin})
    assert answer.status_code == status


@pytest.mark.proves("S-05")
def test_what_a_browser_keeps_is_not_the_token_and_cannot_write(shown: TestClient) -> None:
    shown.post("/token", data={"token": TOKEN})
    cookie = shown.cookies[COOKIE]

    assert TOKEN not in cookie
    assert PERSONAL[0] in shown.get(INVOICE).text
    headers = {"authorization": f"Bearer {cookie}"}
    assert shown.post("/commands/order", json={}, headers=headers).status_code == 401


@pytest.mark.parametrize(
    ("came_from", "goes_to"),
    [
        ("http://127.0.0.1:8300/blocked?id=a%2Fb", "/blocked?id=a%2Fb"),
        ("http://127.0.0.1:8300//evil.example/", "/evil.example/"),
        ("http://127.0.0.1:8300/token", "/"),
        ("http://127.0.0.1:8300/token/?x", "/"),
        ("https://evil.example/letter", "/"),
        ("http://[", "/"),
    ],
)
def test_a_login_with_the_token_returns_to_its_page_and_nowhere_else(
    shown: TestClient, came_from: str, goes_to: str
) -> None:
    headers = {"referer": came_from}
    answer = shown.post("/token", data={"token": TOKEN}, headers=headers, follow_redirects=False)

    assert answer.headers["location"] == goes_to


def test_a_token_of_any_characters_is_taken(opened: Opened, filled: object) -> None:
    token = "\u0442\u043e\u043a\u0435\u043d of \u6587 sixteen"
    browser = opened(data_dir=filled, page_token=token).browser

    assert browser.post("/token", data={"token": token}).status_code == HTTPStatus.OK
    assert PERSONAL[0] in browser.get(INVOICE).text
    cookie = {"cookie": f"{COOKIE}={browser.cookies[COOKIE]}"}
    without_token = opened(data_dir=filled).browser
    assert PERSONAL[0] not in without_token.get(INVOICE, headers=cookie).text
    browser.cookies.clear()
    bearer = {b"authorization": b"Bearer " + token.encode()}
    assert PERSONAL[0] in browser.get(INVOICE, headers=bearer).text


def test_a_browser_gets_a_page_for_what_is_not_there_or_missing(shown: TestClient) -> None:
    html = {"accept": "text/html"}
    for path, status, said in [
        ("/nowhere", 404, "Not Found"),
        ("/explain", 422, "id: Field required"),
    ]:
        page, told = shown.get(path, headers=html), shown.get(path)
        assert (page.status_code, told.status_code) == (status, status)
        assert said in page.text
        assert "<nav" in page.text
        assert told.json()["detail"]


def test_liveness_answers_while_all_threads_wait(page: Page) -> None:
    release, found = threading.Event(), page.looked.now

    def look() -> StatusReport:
        release.wait()
        return found

    page.looked.look = look
    asking = [threading.Thread(target=page.browser.get, args=["/readyz"]) for _ in range(45)]
    for one in asking:
        one.start()
    assert page.browser.get("/livez").status_code == HTTPStatus.OK

    release.set()
    for one in asking:
        one.join()

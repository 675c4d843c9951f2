"""What a browser says of every page: errors, strangers, contrast, names, width."""

from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import ConsoleMessage, Page, Request

from tests.http.browser.chromium import axe
from tests.http.browser.conftest import BROKEN, EMPTY, FILLED, LONG, NewTab, Serve, give_token
from tests.http.filled import FLOW, LATE, ODD

pytestmark = [pytest.mark.long, pytest.mark.process]

PAGES = [
    "/", "/flow", "/rates", "/rejections", "/projections", "/attention", "/application", "/topics",
    "/commands", "/events", "/aggregates", "/audit", "/search?q=nobody", "/sql",
    f"/flow?id={FLOW}", f"/explain?id={LATE}", "/rejections?reason=VERSION_CONFLICT",
    "/aggregate?aggregate=order&id=o-1", "/aggregate?aggregate=invoice&id=inv-1",
    "/blocked?" + urlencode({"id": "us_holder/position/p-7"}),
    "/sql?" + urlencode({"q": "select * from outcome"}), "/sql?q=drop",
    "/flow?" + urlencode({"id": ODD}), "/aggregate?" + urlencode({"aggregate": "order", "id": ODD}),
    "/aggregate?" + urlencode({"aggregate": "order", "id": LONG}), f"/{quote(ODD)}",
]  # fmt: skip
STATES = [FILLED, EMPTY, BROKEN]
SERIOUS = """async () => (await axe.run({
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], resultTypes: ["violations"],
})).violations.filter((one) => ["serious", "critical"].includes(one.impact))
  .flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html}`))"""
WIDTH = "document.documentElement.scrollWidth"


class Heard:
    """What a tab complains of, and whom it asks."""

    def __init__(self, tab: Page, url: str) -> None:
        self.complaints: list[str] = []
        self._url = url
        tab.on("console", self._said)
        tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        tab.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        tab.on("requestfailed", self._failed)
        tab.on("request", self._asked)

    def _said(self, message: ConsoleMessage) -> None:
        # a page that says what is not there is one, and has a status that says so
        of_page = message.page is not None and message.location["url"] == message.page.url
        is_status = of_page and message.text.startswith("Failed to load resource")
        if message.type in ("error", "warning") and not is_status:
            self.complaints.append(message.text)

    def _failed(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # asked for by a page that was left meanwhile
            self.complaints.append(f"{request.url}: {request.failure}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith(f"{self._url}/"):
            self.complaints.append(f"it asks {request.url}")


@pytest.mark.proves("S-05")
@pytest.mark.parametrize("state", STATES)
def test_no_page_complains_or_asks_anybody_else(serve: Serve, new_tab: NewTab, state: str) -> None:
    site, tab = serve(state), new_tab()
    heard = Heard(tab, site.url)
    give_token(tab, site)

    for path in PAGES:
        tab.goto(site.url + path)
    tab.goto(site.url)
    tab.wait_for_event("response", lambda answer: answer.url.endswith("/live"))
    assert heard.complaints == []


def test_every_page_of_the_navigation_is_among_them(serve: Serve, new_tab: NewTab) -> None:
    site, tab = serve(FILLED), new_tab()
    tab.goto(site.url)

    links = tab.get_by_role("navigation").get_by_role("link").all()
    assert {one.get_attribute("href") for one in links} <= {*PAGES}


@pytest.mark.parametrize("state", STATES)
def test_everybody_can_read_and_use_every_page(serve: Serve, new_tab: NewTab, state: str) -> None:
    site, tab = serve(state), new_tab()
    give_token(tab, site)
    found = {}

    for path in PAGES:
        tab.goto(site.url + path)
        tab.evaluate(axe())
        for scheme in ("light", "dark"):
            tab.emulate_media(color_scheme=scheme)
            found[path, scheme] = tab.evaluate(SERIOUS)
    assert {page: said for page, said in found.items() if said} == {}


@pytest.mark.parametrize("state", STATES)
def test_nothing_scrolls_a_narrow_page_sideways(serve: Serve, new_tab: NewTab, state: str) -> None:
    site, tab = serve(state), new_tab(viewport={"width": 360, "height": 740})
    give_token(tab, site)
    widths = {}

    for path in PAGES:
        tab.goto(site.url + path)
        widths[path] = tab.evaluate(WIDTH)
    assert {path: width for path, width in widths.items() if width > 360} == {}

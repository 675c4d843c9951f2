"""What a browser says of every page: errors, strangers, contrast, names, width."""

from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import ConsoleMessage, Page, Request

from tests.http.browser.chromium import axe
from tests.http.browser.conftest import BROKEN, EMPTY, FILLED, LONG, NewTab, Serve
from tests.http.conftest import TOKEN
from tests.http.filled import FLOW, LATE, ODD

pytestmark = [pytest.mark.long, pytest.mark.process]

PAGES = [
    "/", "/rates", "/rejections", "/attention", "/application", "/topics", "/commands", "/events",
    "/aggregates", "/audit", "/search?q=nobody", "/sql",
    f"/flow?id={FLOW}", f"/explain?id={LATE}", "/rejections?reason=VERSION_CONFLICT",
    "/aggregate?aggregate=order&id=o-1", "/aggregate?aggregate=invoice&id=inv-1",
    "/blocked?" + urlencode({"id": "us_holder/position/p-7"}),
    "/sql?" + urlencode({"q": "select * from outcome"}), "/sql?q=drop",
    "/flow?" + urlencode({"id": ODD}), "/aggregate?" + urlencode({"aggregate": "order", "id": ODD}),
    "/aggregate?" + urlencode({"aggregate": "order", "id": LONG}), f"/{quote(ODD)}",
]  # fmt: skip
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
@pytest.mark.parametrize("state", [FILLED, EMPTY, BROKEN])
def test_every_page_is_for_everybody_and_asks_nobody_else(
    serve: Serve, new_tab: NewTab, state: str
) -> None:
    """No error, no other host, names and contrast for all, and no scrolling sideways."""
    site, tab = serve(state), new_tab(viewport={"width": 360, "height": 740})
    heard = Heard(tab, site.url)
    tab.context.request.post(f"{site.url}/token", form={"token": TOKEN})
    serious, widths = {}, {}

    for path in PAGES:
        tab.goto(site.url + path)
        widths[path] = tab.evaluate(WIDTH)
        tab.evaluate(axe())
        for scheme in ("light", "dark"):
            tab.emulate_media(color_scheme=scheme)
            serious[path, scheme] = tab.evaluate(SERIOUS)
    tab.goto(site.url)
    tab.wait_for_event("response", lambda answer: answer.url.endswith("/live"))
    links = tab.get_by_role("navigation").get_by_role("link").all()

    assert heard.complaints == []
    assert {page: said for page, said in serious.items() if said} == {}
    assert {path: width for path, width in widths.items() if width > 360} == {}
    assert {one.get_attribute("href") for one in links} <= {*PAGES}

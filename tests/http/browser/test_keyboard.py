"""Whoever has no mouse: gets everywhere, sees where they are, and can do what others can."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.http.browser.conftest import FILLED, NewTab, Serve, give_token
from tests.http.browser.test_every_page import PAGES
from tests.http.conftest import TOKEN

pytestmark = [pytest.mark.long, pytest.mark.process]

COLLECT = """() => (window.stops = [...document.querySelectorAll(
  "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']"
)].filter((one) => one.checkVisibility())).length"""
STOP = """() => {
  const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
  const seen = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
  return [stops.indexOf(document.activeElement), seen];
}"""


def test_tab_goes_through_all_that_can_be_used_in_order_and_is_seen(
    serve: Serve, new_tab: NewTab
) -> None:
    site, tab = serve(FILLED), new_tab()
    give_token(tab, site)
    for path in PAGES:
        tab.goto(site.url + path)
        stops = [[number, True] for number in range(tab.evaluate(COLLECT))]
        assert [stop(tab) for _ in stops] == stops, path


def stop(tab: Page) -> object:
    """Press Tab; return which of the stops that is, and whether one sees it."""
    tab.keyboard.press("Tab")
    return tab.evaluate(STOP)


def test_a_held_event_is_replayed_by_keyboard_alone(serve: Serve, new_tab: NewTab) -> None:
    site, tab = serve(FILLED), new_tab()
    tab.goto(site.url)

    follow(tab, "Needs attention")
    follow(tab, "us_holder/position/p-7")
    expect(tab.get_by_role("heading", name="us_holder/position/p-7")).to_be_visible()
    fill(tab, tab.get_by_label("Personal fields are hidden"), TOKEN)
    tab.keyboard.press("Enter")
    fill(tab, tab.get_by_label("Operator"), "ada")
    fill(tab, tab.get_by_label("Token", exact=True), TOKEN)
    reach(tab, tab.get_by_role("button", name="Retry"))
    tab.keyboard.press("Space")

    main = tab.get_by_role("main")
    expect(main.get_by_role("status")).to_contain_text("us_holder/position/p-7 is applied")
    expect(main).to_contain_text(
        "No aggregate is blocked, no record stops a projection, and no dead letter is parked."
    )


def follow(tab: Page, link: str) -> None:
    reach(tab, tab.get_by_role("link", name=link))
    tab.keyboard.press("Enter")


def fill(tab: Page, field: Locator, text: str) -> None:
    reach(tab, field)
    tab.keyboard.type(text)


def reach(tab: Page, wanted: Locator) -> None:
    """Press Tab until something has the focus, once through the page at most."""
    expect(wanted).to_be_visible()
    for _ in range(tab.evaluate(COLLECT)):
        tab.keyboard.press("Tab")
        if wanted.evaluate("(one) => one === document.activeElement"):
            return
    pytest.fail(f"Tab does not come to {wanted}")

"""What changes on a page that stays open, what its scripts draw, and what works without them."""

import pytest
from playwright.sync_api import expect

from tests.http.browser.conftest import FILLED, NewTab, Serve
from tests.http.conftest import TOKEN
from verdict.operations.status.status import Problem, ProjectionStatus

pytestmark = [pytest.mark.long, pytest.mark.process]

STOPPED = ProjectionStatus("us_holder", 7, "live", 3, "its table is gone", (), ())
PAINTED = """(canvas) => {
  const { width, height } = canvas;
  const points = canvas.getContext("2d").getImageData(0, 0, width, height).data;
  return points.some((value) => value > 0);
}"""


def test_what_changes_is_shown_and_what_somebody_types_or_focuses_stays(
    serve: Serve, new_tab: NewTab
) -> None:
    site, tab = serve(FILLED), new_tab()
    tab.goto(site.url)
    typed = tab.get_by_label("Search for an id")
    typed.press_sequentially("half an i")

    site.looked.find(problems=(Problem("2 dead letters are parked"),))
    expect(tab.get_by_role("main")).to_contain_text("2 dead letters are parked")
    expect(typed).to_be_focused()
    tab.keyboard.type("d")
    expect(typed).to_have_value("half an id")

    link = tab.get_by_role("main").get_by_role("link", name="BUSINESS_RULE")
    link.focus()
    site.looked.find(decider=None, problems=(Problem("no decider"),), projections=(STOPPED,))
    expect(tab.get_by_role("row", name="us_holder")).to_contain_text("stopped")
    expect(link).to_be_focused()
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("heading", name="The newest with BUSINESS_RULE")).to_be_visible()


def test_a_page_without_an_answer_says_so_until_there_is_one(serve: Serve, new_tab: NewTab) -> None:
    site, tab = serve(FILLED), new_tab()
    tab.goto(site.url)
    silent = tab.get_by_text("The page has not responded since")
    expect(silent).to_be_hidden()

    tab.context.set_offline(True)
    expect(silent).to_be_visible()
    tab.context.set_offline(False)
    expect(silent).to_be_hidden()


def test_charts_are_drawn_in_either_scheme_and_width_and_their_numbers_follow(
    serve: Serve, new_tab: NewTab
) -> None:
    site, tab = serve(FILLED), new_tab()
    tab.goto(f"{site.url}/rates")
    charts = tab.locator("canvas")
    row = tab.get_by_role("row", name="Lag, records outcome")

    expect(charts).to_have_count(5)
    assert [charts.nth(n).evaluate(PAINTED) for n in range(5)] == [True] * 5
    expect(tab.get_by_role("img").first).to_contain_text("accepted")
    wide = charts.first.evaluate("(canvas) => canvas.offsetWidth")
    tab.emulate_media(color_scheme="dark")
    tab.set_viewport_size({"width": 400, "height": 800})
    expect(charts.first).not_to_have_js_property("offsetWidth", wide)
    assert charts.first.evaluate(PAINTED)

    site.looked.find(projections=(ProjectionStatus("outcome", 1, "live", 1234, None, (), ()),))
    expect(row).to_contain_text("1,234")


def test_a_time_is_how_long_ago_and_has_the_time_itself_as_title(
    serve: Serve, new_tab: NewTab
) -> None:
    site, tab = serve(FILLED), new_tab()
    tab.goto(f"{site.url}/commands")
    first = tab.locator("time").first

    expect(first).to_contain_text(" ago")
    expect(first).to_have_attribute("title", first.get_attribute("datetime") or "")
    assert (first.get_attribute("title") or "").endswith("Z")


def test_without_scripts_every_fact_and_form_is_there(serve: Serve, new_tab: NewTab) -> None:
    site, tab = serve(FILLED), new_tab(java_script_enabled=False)
    tab.goto(site.url)
    main = tab.get_by_role("main")
    expect(main).to_contain_text("All is well")

    main.get_by_role("link", name="VERSION_CONFLICT").click()
    expect(main).to_contain_text("expected version 1, order 'o-1' is ACTIVE at version 2")
    tab.get_by_label("Search for an id").fill("o-1")
    tab.get_by_role("button", name="Search").click()
    expect(main).to_contain_text("hash chain intact")
    tab.goto(f"{site.url}/sql")
    tab.get_by_label("hidden without the token").fill(TOKEN)
    tab.get_by_role("button", name="Use").click()
    main.get_by_role("textbox").fill("select count(*) from event_archive")
    tab.get_by_role("button", name="Run").click()
    expect(main.get_by_role("heading", name="1 rows")).to_be_visible()

    tab.get_by_role("link", name="Needs attention").click()
    main.get_by_role("link", name="us_holder/position/p-7").click()
    tab.get_by_label("Operator").fill("ada")
    tab.get_by_label("Token", exact=True).fill(TOKEN)
    tab.get_by_role("button", name="Retry").click()
    expect(main.get_by_role("status")).to_contain_text("us_holder/position/p-7 is applied")

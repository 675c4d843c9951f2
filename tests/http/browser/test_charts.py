"""Charts in a browser: axes, gaps, one line each; and times as how long ago they were."""

import pytest
from playwright.sync_api import expect

from tests.http.browser.conftest import FILLED, NewTab, Serve

pytestmark = [pytest.mark.long, pytest.mark.process]

PAINTED = """(canvas) => {
  const { width, height } = canvas;
  const points = canvas.getContext("2d").getImageData(0, 0, width, height).data;
  return points.some((value) => value > 0);
}"""


def test_charts_are_drawn_in_either_scheme_and_width(serve: Serve, new_tab: NewTab) -> None:
    site, tab = serve(FILLED), new_tab()
    tab.goto(f"{site.url}/rates")
    charts = tab.locator("canvas")

    expect(charts).to_have_count(5)
    assert [charts.nth(n).evaluate(PAINTED) for n in range(5)] == [True] * 5
    expect(tab.get_by_role("img").first).to_contain_text("accepted")
    wide = charts.first.evaluate("(canvas) => canvas.offsetWidth")
    tab.emulate_media(color_scheme="dark")
    tab.set_viewport_size({"width": 400, "height": 800})
    expect(charts.first).not_to_have_js_property("offsetWidth", wide)
    assert charts.first.evaluate(PAINTED)


def test_numbers_below_the_charts_follow(serve: Serve, new_tab: NewTab) -> None:
    site, tab = serve(FILLED), new_tab()
    tab.goto(f"{site.url}/rates")
    row = tab.get_by_role("row", name="Lag, records outcome")
    expect(row).to_contain_text("0")

    [model] = site.looked.now.projections or ()
    site.looked.find(projections=(type(model)("outcome", 1, "live", 1234, None, (), ()),))
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

"""What changes on a page that stays open, what does not, and what is there without scripts."""

import pytest
from playwright.sync_api import expect

from tests.http.browser.conftest import FILLED, NewTab, Serve
from tests.http.conftest import TOKEN
from verdict.operations.status.status import Problem, ProjectionStatus

pytestmark = [pytest.mark.long, pytest.mark.process]

STOPPED = ProjectionStatus("us_holder", 7, "live", 3, "its table is gone", (), ())


def test_what_changes_is_shown_while_somebody_types(serve: Serve, new_tab: NewTab) -> None:
    site, tab = serve(FILLED), new_tab()
    tab.goto(site.url)
    typed = tab.get_by_label("Search for an id")
    typed.press_sequentially("half an i")

    site.looked.find(problems=(Problem("2 dead letters are parked"),))
    expect(tab.get_by_role("main")).to_contain_text("2 dead letters are parked")
    expect(typed).to_be_focused()
    tab.keyboard.type("d")
    expect(typed).to_have_value("half an id")


def test_a_link_keeps_the_focus_while_all_around_it_changes(serve: Serve, new_tab: NewTab) -> None:
    site, tab = serve(FILLED), new_tab()
    tab.goto(site.url)
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

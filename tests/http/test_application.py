"""The picture of what causes what is what the application declares, and the table says the same."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from commands.loyalty import AwardPoints
from commands.order import DeleteOrder
from compose.application import app
from tests.http.conftest import Opened, text
from verdict import Application, Dispatch, Policy, RecordedEvent
from verdict.http.diagram import Box, picture
from verdict.operations.inspect.event_model import EventModel, causes_in

CAUSES = causes_in(app, {})
PROJECTIONS = (
    "client_overview", "client_recent_order", "program_tally", "us_holder", "us_holder_from_state",
)  # fmt: skip


def both(event: RecordedEvent) -> Iterator[Dispatch[AwardPoints | DeleteOrder]]:
    yield Dispatch("order-1", DeleteOrder())


def causes_with(more: Policy) -> EventModel:
    return causes_in(replace(app, policies=(*app.policies, more)), {})


def test_it_is_what_the_application_declares() -> None:
    declared = [*(one.name for one in app.policies), *(one.name for one in app.notifications)]
    follows = {one.name: one.follows for one in CAUSES.followers}

    assert {*follows} == {*declared, *PROJECTIONS, "invoice_line"}
    assert follows["client_overview"] == ("order", "position")
    assert follows["us_holder_from_state"] == ("share-holders",)
    assert [*CAUSES.senders_to("loyalty")] == ["award_points (AwardPoints)"]
    assert [*CAUSES.senders_to("invoice")] == ["point_of_sale (topic POS)"]
    assert "us_holder (projection)" in CAUSES.followers_of("position")


def test_a_policy_points_at_all_that_it_asks_for_and_is_followed_over_aggregates() -> None:
    causes = causes_with(Policy("both", ("order",), both))
    [_, _, untold] = causes_with(Policy("untold", ("order",), lambda event: [])).askers

    assert [*causes.senders_to("order")] == ["both (DeleteOrder)"]
    assert [*causes.senders_to("loyalty")] == ["award_points (AwardPoints)", "both (AwardPoints)"]
    assert "both (policy)" in causes.followers_of("order")
    assert len(picture(causes).paths) == len(picture(CAUSES).paths) + 3
    assert untold == ("untold", "policy, untold what", ())


def test_boxes_hold_their_lines_and_do_not_overlap() -> None:
    drawn = picture(CAUSES)

    assert not [pair for pair in combinations(drawn.boxes, 2) if overlap(*pair)]
    assert max(one.x + one.width for one in drawn.boxes) <= drawn.width
    assert max(one.y + one.height for one in drawn.boxes) <= drawn.height
    shown = {line for one in drawn.boxes for line in one.lines}
    assert shown >= {name for one in CAUSES.aggregates for name in (*one.commands, *one.events)}


def overlap(one: Box, other: Box) -> bool:
    apart = one.x + one.width <= other.x or other.x + other.width <= one.x
    return not (apart or one.y + one.height <= other.y or other.y + other.height <= one.y)


def test_an_application_of_nothing_has_an_empty_picture() -> None:
    nothing = Application(name="none", aggregates=(), schemas="schemas", namespace="none")
    drawn = picture(causes_in(nothing, {}))

    assert (drawn.boxes, drawn.paths) == ((), ())


def test_the_page_draws_it_and_describes_it(opened: Opened) -> None:
    page, drawn = opened().browser.get("/application").text, picture(CAUSES)

    assert page.count("<rect ") == len(drawn.boxes)
    assert page.count('marker-end="url(#arrow)"') == len(drawn.paths)
    assert '<marker id="arrow"' in page
    assert "loyalty award_points (AwardPoints) AwardPoints PointsAwarded" in text(page)

"""The kit that an application's tests are written in: what it lets pass, and what it says."""

import re
from collections.abc import Iterable
from dataclasses import replace

import pytest

from aggregates.order import order
from commands.loyalty import AwardPoints
from commands.order import DeleteOrder, FillOrder, ModifyOrder, PlaceOrder
from commands.policies.award_points import award_points
from compose.application import app
from projections.outbound.shipment import shipment
from projections.us_holder import Position, us_holder
from schemas.invoice import InvoiceRecorded
from schemas.order import OrderCompleted, OrderDeleted, OrderFilled, OrderPlaced
from schemas.position import PositionClosed, PositionOpened, PositionTransferred
from tests.application import APPLICATION
from tests.wire.examples import EVENTS
from verdict import Dispatch, Reason
from verdict.model.command_envelope import Expectation
from verdict.model.message import Event
from verdict.model.policy import Policy
from verdict.model.recorded_event import RecordedEvent
from verdict.projections import Groups, projection
from verdict.testing import given, happened
from verdict.testing.given import START

PLACE = PlaceOrder(client="ada", ticker="AAPL", side="BUY", quantity=10, limit_price_cents=150_00)
PLACED = OrderPlaced(**PLACE.model_dump())
FILL = FillOrder(quantity=10, price_cents=1)
FILLED = OrderFilled(quantity=10, price_cents=1)
OPENED = PositionOpened(client="ada", ticker="AAPL", exchange="NYSE", amount=1)
SALE = EVENTS["invoice"][0]
assert isinstance(SALE, InvoiceRecorded)


def test_a_rule_is_asked_as_a_service_asks_it() -> None:
    again = given(APPLICATION).when(PLACE, 0, command_id="c-1").then(PLACED).given()

    again.when(FILL, 1).then(FILLED, OrderCompleted()).when(DeleteOrder(), 3).then(OrderDeleted())
    refused = again.when(FILL, 0, command_id="c-2").then_refused(
        Reason.VERSION_CONFLICT, "expected version 0, order 'order-1' is ACTIVE at version 1"
    )
    refused.when(FILL, 1, command_id="c-2").then_answered_again()
    again.when(PLACE).then_refused("ALREADY_EXISTS")
    again.when(PLACE, 7, command_id="c-1").then_answered_again()
    again.when(FILL, command_id="c-1").then_refused("COMMAND_ID_REUSED")
    again.when(FILL, aggregate_id="another").then_refused("NOT_FOUND")
    again.when(FILL, deadline=START).then_refused("EXPIRED", late_ms=1000)
    again.when(ModifyOrder(quantity=10)).then()
    given(APPLICATION, PLACED, OrderDeleted()).when(FILL, Expectation.EXISTS).then_refused(
        "DELETED"
    )


def test_the_events_of_several_aggregates_may_take_turns() -> None:
    both = given(
        APPLICATION, happened("a", PLACED), happened("b", PLACED), happened("a", OrderDeleted())
    )

    both.when(FILL, 2, aggregate_id="a").then_refused("DELETED")
    both.when(FILL, 1, aggregate_id="b").then(FILLED, OrderCompleted())


def test_an_expectation_of_a_rule_that_does_not_hold_says_what_came_instead() -> None:
    """Expected and found as a diff, behind the history and the command."""
    too_many = FillOrder(quantity=11, price_cents=1)

    with pytest.raises(AssertionError) as failed:
        given(APPLICATION, PLACED).when(too_many, 1).then(FILLED)

    assert str(failed.value) == (
        "the verdict is another one (- expected, + came)\n"
        "given\n"
        f"  order 'order-1' v1: {PLACED!r}\n"
        "when\n"
        "  FillOrder(quantity=11, price_cents=1) to 'order-1', expected_version=1\n"
        "then\n"
        "  - OrderFilled(quantity=10, price_cents=1)\n"
        "  + refused BUSINESS_RULE\n"
        "  +   cannot fill 11: 10 of 10 are open\n"
        "  +   code='OVERFILL'\n"
        "  +   open=10\n"
        "  +   quantity=11"
    )


def test_every_expectation_that_does_not_hold_fails() -> None:
    order = given(APPLICATION, PLACED)
    known = order.when(FILL, command_id="c-1").then(FILLED, OrderCompleted())
    for wrong, says in (
        (lambda: order.when(FILL).then(FILLED), r"\+ OrderCompleted\(\)"),
        (lambda: order.when(FILL).then(), r"- accepted, and nothing happens"),
        (lambda: order.when(FILL).then_refused("OVERFILL"), r"- refused OVERFILL"),
        (lambda: order.when(PLACE).then_refused("NOT_FOUND"), r"\+ refused ALREADY_EXISTS"),
        (lambda: order.when(FILL, 3).then_refused("VERSION_CONFLICT", "no"), r"-   no"),
        (lambda: order.when(FILL, 3).then_refused("VERSION_CONFLICT", x=1), r"-   x=1"),
        (
            lambda: known.when(FILL, command_id="c-1").then(),
            r"\+ the original outcome again: ACCEPTED",
        ),
        (lambda: order.when(FILL).then_answered_again(), r"- the original outcome again"),
        (lambda: order.then_state(quantity=9), r"quantity=10.* not one with \{'quantity': 9\}"),
        (lambda: order.then_deleted(), "it is not deleted"),
        (lambda: given(APPLICATION).then_deleted(), "nothing has happened"),
    ):
        with pytest.raises(AssertionError, match=says):
            wrong()  # type: ignore[no-untyped-call]


def test_a_field_that_the_schema_does_not_know_yet_is_not_lost_without_a_word() -> None:
    class OrderCancelled(Event):
        cause: str | None = None
        by: str = "nobody"

    cancelled = OrderCancelled(by="ada")
    changed = replace(
        order,
        decide=lambda state, command: [cancelled],
        evolve=lambda state, event: order.evolve(state, event) if event != cancelled else state,
        events=OrderPlaced | OrderCancelled,
    )
    others = (one for one in app.aggregates if one is not order)

    shop = replace(app, aggregates=(changed, *others))
    for wrong in (
        lambda: given(shop, PLACED, cancelled),
        lambda: given(shop, PLACED).when(DeleteOrder()),
    ):
        with pytest.raises(
            AssertionError,
            match=r"by='ada'\) is kept as .*by='nobody'\): .* run `verdict schemas write`",
        ):
            wrong()


def test_a_read_model_shows_what_happened() -> None:
    held = given(APPLICATION, happened("p-1", OPENED), happened("p-2", OPENED, PositionClosed()))

    held.shown_by(us_holder).then({"client": "ada", "positions": 1})
    held.shown_by(us_holder).then(
        {"client": "ada", "positions": 1, "since": "2026-01-01T12:00:00.000Z"}
    )
    moved = held.given(happened("p-1", PositionTransferred(client="bob")))
    moved.shown_by(us_holder, "us_holder_change").then(
        {"client": "bob", "kind": "entered", "position_id": "p-1"}
    )
    given(APPLICATION).shown_by(us_holder).then()
    held.shown_by(us_holder, us_exchanges=["LON"]).then()
    with pytest.raises(TypeError, match="us_holder has no setting 'exchanges'"):
        held.shown_by(us_holder, exchanges=["LON"])


def test_rows_that_are_not_shown_are_said() -> None:
    with pytest.raises(AssertionError) as failed:
        given(APPLICATION, happened("p-1", OPENED)).shown_by(us_holder).then(
            {"client": "ada", "positions": 2}
        )

    assert str(failed.value).startswith("us_holder shows something else (- expected, + came)\n")
    assert "  - {'client': 'ada', 'positions': 2}\n" in str(failed.value)
    with pytest.raises(AssertionError, match=r"\+ \{'client': 'ada', 'positions': 1, 'since'"):
        given(APPLICATION, OPENED).shown_by(us_holder).then()
    with pytest.raises(ValueError, match="the same columns"):
        given(APPLICATION, OPENED).shown_by(us_holder).then({"client": "ada"}, {"positions": 1})


def test_a_read_model_that_fails_is_said_with_the_event() -> None:
    def bug(row: object, event: object) -> None:
        raise ZeroDivisionError("a bug")

    @projection(of="position")
    def broken() -> Groups[Position]:
        return replace(us_holder(), evolve=bug)

    with pytest.raises(
        AssertionError, match=r"broken fails: .*PositionOpened, version 1 .*a bug"
    ) as failed:
        given(APPLICATION, OPENED).shown_by(broken).then()
    assert failed.value.__cause__ is not None


def test_a_policy_asks_for_commands() -> None:
    award = AwardPoints(invoice_number="5582023", total_cents=11_687_00, points_hundredths=233_74)
    prime = SALE.model_copy(update={"customer_type": "PRIME"})
    asked = given(APPLICATION, happened("5582023", prime)).answered_by(award_points)

    asked.then(Dispatch("4629185211", award))
    given(
        APPLICATION, happened("5582023", prime.model_copy(update={"customer_type": "NONPRIME"}))
    ).answered_by(award_points).then()
    with pytest.raises(AssertionError, match=re.escape(f"+ {Dispatch('4629185211', award)!r}")):
        asked.then()


def test_a_policy_asks_for_what_its_annotation_tells_of() -> None:
    def react(event: RecordedEvent) -> Iterable[Dispatch[DeleteOrder]]:
        return [Dispatch("order-2", FillOrder(quantity=1, price_cents=1))]  # type: ignore[arg-type]

    with pytest.raises(AssertionError, match="another dispatches FillOrder: add it"):
        given(APPLICATION, PLACED).answered_by(Policy("another", ("order",), react))


def test_a_notification_tells_of_it() -> None:
    given(APPLICATION, PLACED).told_by(shipment).then()
    [told] = given(APPLICATION, happened("7", SALE)).told_by(shipment).came
    assert told["InvoiceNumber"] == "7"

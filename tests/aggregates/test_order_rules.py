from typing import Any

import pytest

from commands.order import CancelOrder, DeleteOrder, FillOrder, ModifyOrder, PlaceOrder
from schemas.order import (
    OrderCancelled,
    OrderCompleted,
    OrderDeleted,
    OrderFilled,
    OrderModified,
    OrderPlaced,
)
from tests.application import APPLICATION
from verdict.model.command import Command, LifeCycle
from verdict.model.message import Event
from verdict.testing import Given, given

PLACED = OrderPlaced(client="ada", ticker="AAPL", side="BUY", quantity=10, limit_price_cents=150_00)
an_open_order = given(APPLICATION, PLACED)
an_order_filled_with_4 = an_open_order.given(OrderFilled(quantity=4, price_cents=149_00))
a_completed_order = an_open_order.given(
    OrderFilled(quantity=10, price_cents=150_00), OrderCompleted()
)
a_cancelled_order = an_open_order.given(OrderCancelled(cause="changed my mind"))


def test_placing_an_order_records_what_was_asked() -> None:
    place = PlaceOrder(
        client="ada", ticker="AAPL", side="BUY", quantity=10, limit_price_cents=150_00
    )
    given(APPLICATION).when(place).then(PLACED).then_state(quantity=10, filled=0, status="open")


def test_only_placing_starts_without_an_order() -> None:
    assert PlaceOrder.starts_from == {LifeCycle.NONE}
    for command in (ModifyOrder, FillOrder, CancelOrder, DeleteOrder):
        assert command.starts_from == {LifeCycle.ACTIVE}


@pytest.mark.parametrize("changed", [{"quantity": 5}, {"limit_price_cents": 1}])
def test_modifying_one_value_keeps_the_other(changed: dict[str, int]) -> None:
    values = {"quantity": 10, "limit_price_cents": 150_00} | changed

    modified = an_open_order.when(ModifyOrder(**changed)).then(OrderModified(**values))
    modified.then_state(**values)
    modified.when(ModifyOrder(**changed)).then()  # the same values again change nothing
    modified.when(ModifyOrder(**values)).then()


def test_an_order_is_never_modified_to_less_than_is_filled() -> None:
    an_order_filled_with_4.when(ModifyOrder(quantity=3, limit_price_cents=1)).then_refused(
        "BELOW_FILLED",
        "cannot modify to quantity 3: 4 are filled",
        quantity=3,
        filled=4,
    )


MODIFIED = OrderModified(quantity=4, limit_price_cents=150_00)
CHEAPER = OrderModified(quantity=10, limit_price_cents=2)


@pytest.mark.parametrize(
    ("command", "events", "state"),
    [
        (ModifyOrder(quantity=4), [MODIFIED, OrderCompleted()],
         {"status": "completed", "quantity": 4, "filled": 4}),
        (ModifyOrder(limit_price_cents=2), [CHEAPER], {"status": "open", "filled": 4}),
        (FillOrder(quantity=5, price_cents=1), [OrderFilled(quantity=5, price_cents=1)],
         {"status": "open", "filled": 9, "open": 1}),
        (FillOrder(quantity=6, price_cents=1),
         [OrderFilled(quantity=6, price_cents=1), OrderCompleted()],
         {"status": "completed", "filled": 10}),
    ],
)  # fmt: skip
def test_what_leaves_nothing_open_completes_the_order(
    command: Command, events: list[Event], state: dict[str, Any]
) -> None:
    an_order_filled_with_4.when(command).then(*events).then_state(**state)


def test_a_fill_takes_the_modified_quantity_as_the_measure() -> None:
    modified = an_order_filled_with_4.given(OrderModified(quantity=5, limit_price_cents=150_00))
    filled = OrderFilled(quantity=1, price_cents=1)

    modified.when(FillOrder(quantity=1, price_cents=1)).then(filled, OrderCompleted())


def test_more_than_is_open_is_never_filled() -> None:
    an_order_filled_with_4.when(FillOrder(quantity=7, price_cents=150_00)).then_refused(
        "OVERFILL", "cannot fill 7: 6 of 10 are open", quantity=7, open=6
    )


def test_an_order_is_cancelled_with_or_without_a_cause() -> None:
    an_open_order.when(CancelOrder()).then(OrderCancelled(cause=None))
    (
        an_order_filled_with_4.when(CancelOrder(cause="too slow"))
        .then(OrderCancelled(cause="too slow"))
        .then_state(status="cancelled", filled=4)
    )


@pytest.mark.parametrize(
    "command",
    [
        ModifyOrder(quantity=20),
        ModifyOrder(quantity=10),
        FillOrder(quantity=1, price_cents=1),
        CancelOrder(),
    ],
    ids=["modify", "modify-to-the-same", "fill", "cancel"],
)
@pytest.mark.parametrize(
    ("ended", "status"),
    [(a_completed_order, "completed"), (a_cancelled_order, "cancelled")],
    ids=["completed", "cancelled"],
)
def test_nothing_but_delete_follows_the_end_of_an_order(
    ended: Given, status: str, command: Command
) -> None:
    ended.when(command).then_refused(
        "ORDER_ENDED", f"order is {status}: only DeleteOrder may follow", status=status
    )


@pytest.mark.parametrize(
    "order",
    [an_open_order, an_order_filled_with_4, a_completed_order, a_cancelled_order],
    ids=["open", "partly filled", "completed", "cancelled"],
)
def test_an_order_can_be_deleted_whatever_its_status(order: Given) -> None:
    order.when(DeleteOrder()).then(OrderDeleted()).then_deleted()

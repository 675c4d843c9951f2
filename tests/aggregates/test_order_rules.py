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


@pytest.mark.parametrize(
    "same",
    [
        ModifyOrder(quantity=10),
        ModifyOrder(limit_price_cents=150_00),
        ModifyOrder(quantity=10, limit_price_cents=150_00),
    ],
)
def test_modifying_to_the_same_values_changes_nothing(same: ModifyOrder) -> None:
    an_open_order.when(same).then()
    an_order_filled_with_4.when(same).then()


def test_an_order_is_never_modified_to_less_than_is_filled() -> None:
    an_order_filled_with_4.when(ModifyOrder(quantity=3, limit_price_cents=1)).then_refused(
        "BELOW_FILLED",
        "cannot modify to quantity 3: 4 are filled",
        quantity=3,
        filled=4,
    )


def test_modifying_to_what_is_filled_completes_the_order() -> None:
    (
        an_order_filled_with_4.when(ModifyOrder(quantity=4))
        .then(OrderModified(quantity=4, limit_price_cents=150_00), OrderCompleted())
        .then_state(status="completed", quantity=4, filled=4)
    )


def test_modifying_only_the_price_of_a_partly_filled_order_does_not_complete_it() -> None:
    (
        an_order_filled_with_4.when(ModifyOrder(limit_price_cents=2))
        .then(OrderModified(quantity=10, limit_price_cents=2))
        .then_state(status="open", filled=4)
    )


def test_a_partial_fill_leaves_the_rest_open() -> None:
    (
        an_order_filled_with_4.when(FillOrder(quantity=5, price_cents=148_00))
        .then(OrderFilled(quantity=5, price_cents=148_00))
        .then_state(filled=9, open=1, status="open")
    )


def test_the_fill_of_the_rest_completes_the_order() -> None:
    (
        an_order_filled_with_4.when(FillOrder(quantity=6, price_cents=150_00))
        .then(OrderFilled(quantity=6, price_cents=150_00), OrderCompleted())
        .then_state(status="completed", filled=10)
    )


def test_a_fill_takes_the_modified_quantity_as_the_measure() -> None:
    (
        an_order_filled_with_4.given(OrderModified(quantity=5, limit_price_cents=150_00))
        .when(FillOrder(quantity=1, price_cents=1))
        .then(OrderFilled(quantity=1, price_cents=1), OrderCompleted())
    )


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

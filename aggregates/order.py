"""The rules of an order: never fill more than is open, nothing but delete once it has ended."""

from typing import Literal, assert_never

from commands.order import (
    CancelOrder,
    DeleteOrder,
    FillOrder,
    ModifyOrder,
    OrderCommand,
    PlaceOrder,
)
from schemas.order import (
    OrderCancelled,
    OrderCompleted,
    OrderDeleted,
    OrderEvent,
    OrderFilled,
    OrderModified,
    OrderPlaced,
)
from verdict import Aggregate, Cents, Message, Positive, Refused


class Order(Message):
    """What the rules need to know of an order."""

    quantity: Positive
    limit_price_cents: Cents
    filled: int = 0
    status: Literal["open", "completed", "cancelled"] = "open"

    @property
    def open(self) -> int:
        """How much may still be filled."""
        return self.quantity - self.filled


def decide(order: Order | None, command: OrderCommand) -> list[OrderEvent]:
    """Return the events that `command` causes; a command that changes nothing causes none.

    Raises:
        Refused: The command breaks a rule of the order.
    """
    if isinstance(command, PlaceOrder):
        return [OrderPlaced(**command.model_dump())]
    assert order is not None  # only PlaceOrder starts without one
    if isinstance(command, DeleteOrder):
        return [OrderDeleted()]
    if order.status != "open":
        raise Refused(
            "ORDER_ENDED",
            f"order is {order.status}: only DeleteOrder may follow",
            status=order.status,
        )
    match command:
        case ModifyOrder():
            return _modify(order, command)
        case FillOrder():
            return _fill(order, command)
        case CancelOrder(cause=cause):
            return [OrderCancelled(cause=cause)]
        case _:
            assert_never(command)


def _modify(order: Order, command: ModifyOrder) -> list[OrderEvent]:
    quantity = order.quantity if command.quantity is None else command.quantity
    price = command.limit_price_cents or order.limit_price_cents
    if (quantity, price) == (order.quantity, order.limit_price_cents):
        return []
    if quantity < order.filled:
        raise Refused(
            "BELOW_FILLED",
            f"cannot modify to quantity {quantity}: {order.filled} are filled",
            quantity=quantity,
            filled=order.filled,
        )
    modified = OrderModified(quantity=quantity, limit_price_cents=price)
    return [modified, OrderCompleted()] if quantity == order.filled else [modified]


def _fill(order: Order, command: FillOrder) -> list[OrderEvent]:
    if command.quantity > order.open:
        raise Refused(
            "OVERFILL",
            f"cannot fill {command.quantity}: {order.open} of {order.quantity} are open",
            quantity=command.quantity,
            open=order.open,
        )
    filled = OrderFilled(quantity=command.quantity, price_cents=command.price_cents)
    return [filled, OrderCompleted()] if command.quantity == order.open else [filled]


def evolve(order: Order | None, event: OrderEvent) -> Order | None:
    """Return the order after `event`; total, and it never refuses: the event happened."""
    if isinstance(event, OrderPlaced):
        return Order(quantity=event.quantity, limit_price_cents=event.limit_price_cents)
    assert order is not None  # every history begins with OrderPlaced
    match event:
        case OrderModified(quantity=quantity, limit_price_cents=price):
            return order.model_copy(update={"quantity": quantity, "limit_price_cents": price})
        case OrderFilled(quantity=quantity):
            return order.model_copy(update={"filled": order.filled + quantity})
        case OrderCompleted():
            return order.model_copy(update={"status": "completed"})
        case OrderCancelled():
            return order.model_copy(update={"status": "cancelled"})
        case OrderDeleted():
            return None
        case _:
            assert_never(event)


order = Aggregate("order", Order, decide, evolve, commands=OrderCommand, events=OrderEvent)

"""`client_recent_order`: the newest 30 orders of a client, as they are now."""

from typing import Annotated, Literal, NamedTuple, assert_never

from schemas import order as o
from verdict import Instant, RecordedEvent
from verdict.projections import Doc, Latest, projection, there

SHOWN = 30
Status = Literal["OPEN", "PARTIALLY_FILLED", "COMPLETED", "CANCELLED"]


class Order(NamedTuple):
    """What is shown of an order."""

    client: Annotated[str, Doc("Who placed the order.")]
    ticker: Annotated[str, Doc("What is bought or sold.")]
    side: Annotated[o.Side, Doc("BUY or SELL.")]
    quantity: Annotated[int, Doc("How much was ordered, after modifications.")]
    filled_quantity: Annotated[int, Doc("How much of it is filled.")]
    limit_price_cents: Annotated[int, Doc("The worst price to accept, in cents.")]
    status: Annotated[Status, Doc("OPEN, PARTIALLY_FILLED, COMPLETED or CANCELLED.")]
    placed_at: Annotated[Instant, Doc("When it was placed.")]


def evolve(row: Order | None, recorded: RecordedEvent[o.OrderEvent]) -> Order | None:
    match recorded.payload:
        case o.OrderPlaced(
            client=client, ticker=ticker, side=side, quantity=quantity, limit_price_cents=price
        ):
            return Order(client, ticker, side, quantity, 0, price, "OPEN", recorded.decided_at)
        case o.OrderModified(quantity=quantity, limit_price_cents=price):
            return there(row)._replace(quantity=quantity, limit_price_cents=price)
        case o.OrderFilled(quantity=quantity):
            order = there(row)
            filled = order.filled_quantity + quantity
            return order._replace(filled_quantity=filled, status="PARTIALLY_FILLED")
        case o.OrderCompleted():
            return there(row)._replace(status="COMPLETED")
        case o.OrderCancelled():
            return there(row)._replace(status="CANCELLED")
        case o.OrderDeleted():
            there(row)
            return None
        case never:
            assert_never(never)


@projection(of="order")
def client_recent_order() -> Latest[Order]:
    """The newest 30 orders of each client, as they are now."""
    return Latest(SHOWN, Order, evolve, by="client", order_by="placed_at", index=("status",))

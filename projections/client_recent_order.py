"""`client_recent_order`: the newest 30 orders of a client, as they are now."""

from typing import Literal, NamedTuple, assert_never, cast

from sqlalchemy import BigInteger, Column, Index, MetaData, Text

from schemas.order import (
    OrderCancelled,
    OrderCompleted,
    OrderDeleted,
    OrderEvent,
    OrderFilled,
    OrderModified,
    OrderPlaced,
    Side,
)
from verdict import (
    InstantType,
    Newest,
    RecordedEvent,
    RowProjection,
    described,
    newest_table,
    row_table,
    version_view,
)

SHOWN = 30


class Order(NamedTuple):
    """What is shown of an order."""

    client: str
    ticker: str
    side: Side
    quantity: int
    filled_quantity: int
    limit_price_cents: int
    status: Literal["OPEN", "PARTIALLY_FILLED", "COMPLETED", "CANCELLED"]
    placed_at: int


def evolve(order: Order | None, recorded: RecordedEvent) -> Order | None:
    """Return the order after an event, None once it is deleted."""
    event = cast(OrderEvent, recorded.payload)
    if isinstance(event, OrderPlaced):
        return _placed(event, recorded.decided_at)
    assert order is not None, "the order is not there"
    match event:
        case OrderModified(quantity=quantity, limit_price_cents=price):
            return order._replace(quantity=quantity, limit_price_cents=price)
        case OrderFilled(quantity=quantity):
            filled = order.filled_quantity + quantity
            return order._replace(filled_quantity=filled, status="PARTIALLY_FILLED")
        case OrderCompleted():
            return order._replace(status="COMPLETED")
        case OrderCancelled():
            return order._replace(status="CANCELLED")
        case OrderDeleted():
            return None
        case _:
            assert_never(event)


def _placed(event: OrderPlaced, at: int) -> Order:
    return Order(
        client=event.client,
        ticker=event.ticker,
        side=event.side,
        quantity=event.quantity,
        filled_quantity=0,
        limit_price_cents=event.limit_price_cents,
        status="OPEN",
        placed_at=at,
    )


def by_client(order: Order) -> str:
    """Return the client, who never changes."""
    return order.client


def client_recent_order(version: int = 1) -> RowProjection[Order]:
    """Return the projection; place 1 is the newest, of two placed at one time the greater id."""
    metadata = MetaData()
    orders = row_table(
        f"client_recent_order_order_v{version}",
        metadata,
        Column("client", Text),
        Column("ticker", Text),
        Column("side", Text),
        Column("quantity", BigInteger),
        Column("filled_quantity", BigInteger),
        Column("limit_price_cents", BigInteger),
        Column("status", Text),
        Column("placed_at", InstantType),
    )
    of = orders.c
    Index(f"{orders.name}_newest", of.group_key, of.placed_at, of.aggregate_id)
    Index(f"{orders.name}_status", of.status)
    newest: Newest[Order] = Newest(
        table=newest_table(f"client_recent_order_v{version}", metadata),
        members=orders,
        by="placed_at",
        shown=SHOWN,
    )
    shown = described(
        newest.view(
            "client",
            "place",
            of.aggregate_id.label("order_id"),
            *(of[name] for name in Order._fields if name != "client"),
        ),
        f"The newest {SHOWN} orders of each client, as they are now.",
        client="Who placed the order.",
        place=f"1 is the client's newest order, {SHOWN} the oldest that is shown.",
        order_id="Id of the order.",
        ticker="What is bought or sold.",
        side="BUY or SELL.",
        quantity="How much was ordered, after modifications.",
        filled_quantity="How much of it is filled.",
        limit_price_cents="The worst price to accept, in cents.",
        status="OPEN, PARTIALLY_FILLED, COMPLETED or CANCELLED.",
        placed_at="When it was placed.",
    )
    return RowProjection(
        name="client_recent_order",
        version=version,
        aggregate_types=("order",),
        row=Order,
        table=orders,
        evolve=evolve,
        group=by_client,
        shows=newest,
        views={
            "client_recent_order": shown,
            **version_view("client_recent_order", "order", orders),
        },
    )

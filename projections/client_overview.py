"""`client_overview`: what a client has, over orders and positions, and when it was last touched."""

from collections.abc import Collection
from functools import partial
from typing import Any, NamedTuple, assert_never

from projections.us_exchanges import US_EXCHANGES
from schemas import order as o
from schemas import position as p
from verdict import Instant, RecordedEvent
from verdict.projections import Groups, any_of, key, maximum, projection, there, total


class Part(NamedTuple):
    """What an order or a position is to its client, also when it has ended."""

    client: str
    last_activity: Instant
    quantity: int = 0
    filled: int = 0
    price_cents: int = 0
    open_orders: int = 0
    open_worth_cents: int = 0
    open_positions: int = 0
    us_positions: int = 0


def open_order(client: str, at: int, quantity: int, filled: int, price: int) -> Part:
    worth = min((quantity - filled) * price, 10**15)  # thousands of such orders fit a column
    return Part(client, at, quantity, filled, price, open_orders=1, open_worth_cents=worth)


def of_order(row: Part | None, recorded: RecordedEvent[o.OrderEvent]) -> Part:
    at = recorded.decided_at
    match recorded.payload:
        case o.OrderPlaced(client=client, quantity=quantity, limit_price_cents=price):
            return open_order(client, at, quantity, 0, price)
        case o.OrderModified(quantity=quantity, limit_price_cents=price):
            return open_order(there(row).client, at, quantity, there(row).filled, price)
        case o.OrderFilled(quantity=more):
            client, _, quantity, filled, price, *_ = there(row)
            return open_order(client, at, quantity, filled + more, price)
        case o.OrderCompleted() | o.OrderCancelled() | o.OrderDeleted():
            return Part(there(row).client, at)
        case never:
            assert_never(never)


def of_position(
    row: Part | None, recorded: RecordedEvent[p.PositionEvent], exchanges: Collection[str]
) -> Part:
    at = recorded.decided_at
    match recorded.payload:
        case p.PositionOpened(client=client, exchange=exchange):
            return Part(client, at, open_positions=1, us_positions=int(exchange in exchanges))
        case p.PositionAdjusted():
            return there(row)._replace(last_activity=at)
        case p.PositionRelisted(exchange=exchange):
            return there(row)._replace(last_activity=at, us_positions=int(exchange in exchanges))
        case p.PositionTransferred(client=client):
            return there(row)._replace(last_activity=at, client=client)
        case p.PositionClosed():
            return Part(there(row).client, at)
        case never:
            assert_never(never)


def touched(row: Part, recorded: RecordedEvent[Any]) -> Part:
    is_transfer = isinstance(recorded.payload, p.PositionTransferred)  # it touches both clients
    return Part(row.client, recorded.decided_at if is_transfer else row.last_activity)


@projection(of=("order", "position"))
def client_overview(us_exchanges: Collection[str] = US_EXCHANGES) -> Groups[Part]:
    """What each client has, of whom there ever was an order or a position."""
    return Groups(
        Part,
        {"order": of_order, "position": partial(of_position, exchanges=us_exchanges)},
        by=lambda row: row.client,
        leaves_behind=touched,
        columns={
            "client": key("The client."),
            "open_orders": total("open_orders", "How many orders are open."),
            "open_worth_cents": total("open_worth_cents", "What is not filled of them, in cents."),
            "open_positions": total("open_positions", "How many positions are open."),
            "us_holder": any_of("us_positions", "Whether one of these is on a US exchange."),
            "last_activity": maximum("last_activity", "When one of them changed last."),
        },
    )

"""`client_overview`: what a client has, over orders and positions, and when it was last touched."""

from collections.abc import Collection
from typing import NamedTuple, assert_never, cast

from sqlalchemy import BigInteger, Column, Index, MetaData, Table, Text, func, select

from projections.us_exchanges import US_EXCHANGES, settings_with
from schemas.order import (
    OrderCancelled,
    OrderCompleted,
    OrderDeleted,
    OrderEvent,
    OrderFilled,
    OrderModified,
    OrderPlaced,
)
from schemas.position import (
    PositionAdjusted,
    PositionClosed,
    PositionEvent,
    PositionOpened,
    PositionRelisted,
    PositionTransferred,
)
from verdict import (
    CountedGroups,
    InstantType,
    RecordedEvent,
    RowProjection,
    Tally,
    described,
    row_table_of_types,
    version_view,
)

# of one order: neither one that the rules accept nor thousands of them are too much for a column
COUNTED_CENTS = 10**15


class Part(NamedTuple):
    """What an order or a position is to its client; it stays one when it has ended.

    The numbers that add up over a client are those from `open_orders` to `us_positions`; those of
    an order are 0 in a position, and the other way.
    """

    client: str
    last_activity: int
    quantity: int = 0
    filled_quantity: int = 0
    limit_price_cents: int = 0
    open_orders: int = 0
    open_worth_cents: int = 0
    open_positions: int = 0
    us_positions: int = 0

    def ended(self) -> "Part":
        """Return what does not count any more."""
        return self._replace(open_orders=0, open_worth_cents=0, open_positions=0, us_positions=0)


SUMMED = ("open_orders", "open_worth_cents", "open_positions", "us_positions")


def open_order(client: str, at: int, quantity: int, filled: int, price: int) -> Part:
    """Return an order with what is open of it at its limit price, as far as that counts."""
    worth = min((quantity - filled) * price, COUNTED_CENTS)
    return Part(client, at, quantity, filled, price, open_orders=1, open_worth_cents=worth)


def of_order(order: Part | None, event: OrderEvent, at: int) -> Part:
    """Return the order after an event; a deleted one is still the last that a client did."""
    if isinstance(event, OrderPlaced):
        return open_order(event.client, at, event.quantity, 0, event.limit_price_cents)
    assert order is not None, "the order is not there"
    client, _, quantity, filled, price, *_ = order
    match event:
        case OrderModified(quantity=quantity, limit_price_cents=price):
            return open_order(client, at, quantity, filled, price)
        case OrderFilled(quantity=more):
            return open_order(client, at, quantity, filled + more, price)
        case OrderCompleted() | OrderCancelled() | OrderDeleted():
            return order.ended()._replace(last_activity=at)
        case _:
            assert_never(event)


def of_position(
    position: Part | None, event: PositionEvent, at: int, exchanges: Collection[str]
) -> Part:
    """Return the position after an event; a closed one is still the last that a client did."""
    if isinstance(event, PositionOpened):
        in_us = event.exchange in exchanges
        return Part(event.client, at, open_positions=1, us_positions=int(in_us))
    assert position is not None, "the position is not there"
    position = position._replace(last_activity=at)
    match event:
        case PositionAdjusted():
            return position
        case PositionRelisted(exchange=exchange):
            return position._replace(us_positions=int(exchange in exchanges))
        case PositionTransferred(client=client):
            return position._replace(client=client)
        case PositionClosed():
            return position.ended()
        case _:
            assert_never(event)


def by_client(part: Part) -> str:
    """Return whose it is."""
    return part.client


def remains(part: Part, recorded: RecordedEvent) -> Part:
    """Return what stays with the client from whom a position goes to another: when it was touched.

    A transfer touches both clients; a position that was closed before, only the next one.
    """
    touched = isinstance(recorded.payload, PositionTransferred)
    at = recorded.decided_at if touched else part.last_activity
    return part.ended()._replace(last_activity=at)


def client_overview(
    us_exchanges: Collection[str] = US_EXCHANGES, version: int = 1
) -> RowProjection[Part]:
    """Return the projection; a client of whom nothing is open any more is still there.

    Args:
        us_exchanges: What counts as one, spelled as in the events.
        version: Of the tables.
    """

    def evolve(part: Part | None, recorded: RecordedEvent) -> Part:
        if recorded.aggregate_type == "order":
            return of_order(part, cast(OrderEvent, recorded.payload), recorded.decided_at)
        event = cast(PositionEvent, recorded.payload)
        return of_position(part, event, recorded.decided_at, us_exchanges)

    metadata = MetaData()
    parts = row_table_of_types(
        f"client_overview_part_v{version}",
        metadata,
        Column("client", Text),
        Column("last_activity", InstantType),
        *(Column(name, BigInteger) for name in Part._fields[2:]),
    )
    Index(f"{parts.name}_newest", parts.c.group_key, parts.c.last_activity)
    clients = Table(
        f"client_overview_v{version}",
        metadata,
        Column("client", Text, primary_key=True),
        *(Column(name, BigInteger, nullable=False) for name in SUMMED),
        Column("parts", BigInteger, nullable=False),
        Column("last_activity", InstantType, nullable=False),
    )
    of = clients.c
    return RowProjection(
        name="client_overview",
        version=version,
        aggregate_types=("order", "position"),
        row=Part,
        table=parts,
        evolve=evolve,
        group=by_client,
        remains=remains,
        shows=Tally(
            groups=CountedGroups(
                table=clients,
                members=parts,
                counts=(*SUMMED, "parts"),
                reads={"last_activity": func.max(parts.c.last_activity)},
            ),
            counts={**{name: name for name in SUMMED}, "parts": None},
        ),
        views={
            "client_overview": described(
                select(
                    of.client,
                    of.open_orders,
                    of.open_worth_cents,
                    of.open_positions,
                    (of.us_positions > 0).label("us_holder"),
                    of.last_activity,
                ),
                "What each client has, of whom there ever was an order or a position.",
                client="The client.",
                open_orders="How many orders are open.",
                open_worth_cents=(
                    "What is not filled of them, at their limit prices, in cents; of each order "
                    "10^15 at most."
                ),
                open_positions="How many positions are open.",
                us_holder="Whether one of these is on a US exchange.",
                last_activity="When something last happened to one of all of them, and to one that "
                "went to another client, as it went.",
            ),
            **version_view("client_overview", None, parts),
        },
        settings=settings_with(us_exchanges),
    )

"""Order events: what the `order.events` topic holds, forever.

A class name here is a storage format. Renaming one or dropping a field breaks
every replay; add a new event instead.
"""

from typing import Literal

from verdict import Cents, Event, Positive, Text

Side = Literal["BUY", "SELL"]


class OrderPlaced(Event):
    client: Text
    ticker: Text
    side: Side
    quantity: Positive
    limit_price_cents: Cents


class OrderModified(Event):
    """Carries both values as they are from now on, changed or not."""

    quantity: Positive
    limit_price_cents: Cents


class OrderFilled(Event):
    quantity: Positive
    price_cents: Cents


class OrderCompleted(Event):
    pass


class OrderCancelled(Event):
    cause: Text | None = None


class OrderDeleted(Event):
    pass


OrderEvent = (
    OrderPlaced | OrderModified | OrderFilled | OrderCompleted | OrderCancelled | OrderDeleted
)

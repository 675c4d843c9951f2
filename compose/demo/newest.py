"""The newest orders of each client, by a fold of its own: no part of the read side."""

from collections.abc import Iterator
from typing import Any

from schemas.order import (
    OrderCancelled,
    OrderCompleted,
    OrderDeleted,
    OrderFilled,
    OrderModified,
    OrderPlaced,
)
from verdict import RecordedEvent

SHOWN = 30


class NewestOrders:
    """Takes order events, each order's in the order in which they lie."""

    def __init__(self) -> None:
        self._orders: dict[str, dict[str, Any]] = {}

    def take(self, recorded: RecordedEvent) -> None:
        """Look at the next event."""
        order = self._orders.setdefault(recorded.aggregate_id, {"filled": 0, "status": "OPEN"})
        match recorded.payload:
            case OrderPlaced(client=client, quantity=quantity):
                order.update(client=client, quantity=quantity, at=recorded.decided_at)
            case OrderModified(quantity=quantity):
                order["quantity"] = quantity
            case OrderFilled(quantity=quantity):
                order["filled"] += quantity
                order["status"] = "PARTIALLY_FILLED"
            case OrderCompleted():
                order["status"] = "COMPLETED"
            case OrderCancelled():
                order["status"] = "CANCELLED"
            case OrderDeleted():
                del self._orders[recorded.aggregate_id]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield client, place, order id, quantity, filled quantity, status."""
        of_client: dict[str, list[tuple[int, str]]] = {}
        for order_id, order in self._orders.items():
            of_client.setdefault(order["client"], []).append((order["at"], order_id))
        for client, placed in of_client.items():
            for place, (_, order_id) in enumerate(sorted(placed, reverse=True)[:SHOWN], start=1):
                order = self._orders[order_id]
                yield client, place, order_id, order["quantity"], order["filled"], order["status"]

"""What may be asked of an order."""

from typing import Self

from pydantic import model_validator

from schemas.order import Side
from verdict import CREATING, Cents, Command, Name, Positive, Text


class PlaceOrder(Command):
    starts_from = CREATING

    client: Name
    ticker: Text
    side: Side
    quantity: Positive
    limit_price_cents: Cents


class ModifyOrder(Command):
    """Changes what is given and keeps the rest."""

    quantity: Positive | None = None
    limit_price_cents: Cents | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.quantity is None and self.limit_price_cents is None:
            raise ValueError("give quantity, limit_price_cents or both")
        return self


class FillOrder(Command):
    quantity: Positive
    price_cents: Cents


class CancelOrder(Command):
    cause: Text | None = None


class DeleteOrder(Command):
    pass


OrderCommand = PlaceOrder | ModifyOrder | FillOrder | CancelOrder | DeleteOrder

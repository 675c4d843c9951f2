"""How tills, and those who work with them, name and count what we name and count otherwise."""

from decimal import Decimal
from typing import Any

from verdict import Message

HUNDRED = Decimal(100)
CENTS = "_cents"
ABBREVIATED = {"id", "cgst", "sgst", "cess"}


def till_name(name: str) -> str:
    """Return `total_amount_cents` as `TotalAmount`, `store_id` as `StoreID`, `cgst` as `CGST`."""
    words = name.removesuffix(CENTS).split("_")
    return "".join(word.upper() if word in ABBREVIATED else word.capitalize() for word in words)


def in_till_names(message: Message) -> dict[str, Any]:
    """Return a message as a till would write it: names in CamelCase, money in units, not cents."""
    return {
        till_name(name): _as_till(name, getattr(message, name))
        for name in type(message).model_fields
    }


def units(hundredths: int) -> int | Decimal:
    """Return cents as an amount, hundredths of points as points, for `exact_json`.

    Most readers of JSON take a number with a fraction as a float, which keeps 15 digits of it.
    """
    amount = hundredths / HUNDRED
    return int(amount) if amount == amount.to_integral_value() else amount


def _as_till(name: str, value: Any) -> Any:
    if name.endswith(CENTS):
        return units(value)
    if isinstance(value, Message):
        return in_till_names(value)
    return [in_till_names(one) for one in value] if isinstance(value, list) else value

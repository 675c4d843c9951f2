"""What tills send, made up from a seed, and what must become of it, worked out on its own."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from decimal import Decimal
from random import Random
from typing import Any

Sale = dict[str, Any]

STORES = ("STR7188", "STR2629", "STR5494")
PERSONAL = "personal"  # stands in every value that is a person's


def sale(number: int, random: Random) -> Sale:
    """Return an invoice as a till writes it."""
    lines = [line(random) for _ in range(random.randint(1, 6))]
    total = sum(one["TotalValue"] for one in lines)
    home = random.random() < 0.4
    prime = random.random() < 0.6
    return {
        "InvoiceNumber": str(number),
        "CreatedTime": 1_795_262_400_000 + number * 1000,
        "StoreID": random.choice(STORES),
        "PosID": f"POS{random.randint(1, 9)}",
        "CashierID": f"{PERSONAL}-cashier-{random.randint(1, 9)}",
        "CustomerType": random.choice(["PRIME", "Prime", "prime"]) if prime else "NONPRIME",
        "CustomerCardNo": f"{PERSONAL}-card-{card}" if (card := random.randint(0, 12)) else None,
        "TotalAmount": total,
        "NumberOfItems": len(lines),
        "PaymentMethod": random.choice(["CASH", "CARD"]),
        "TaxableAmount": total,
        "CGST": round(total * 0.025, 5),
        "SGST": round(total * 0.025, 5),
        "CESS": 0.0,
        "DeliveryType": random.choice(["HOME-DELIVERY", "home-delivery"]) if home else "TAKEAWAY",
        "DeliveryAddress": address(number) if home else None,
        "InvoiceLineItems": lines,
    }


def line(random: Random) -> dict[str, Any]:
    """Return one article."""
    price, quantity = random.randint(1, 400_000) / 4, random.randint(1, 3)
    return {
        "ItemCode": str(random.randint(100, 999)),
        "ItemDescription": random.choice(["Wine glass", "Sideboard", "Bin bag"]),
        "ItemPrice": price,
        "ItemQty": quantity,
        "TotalValue": price * quantity,
    }


def address(number: int) -> dict[str, Any]:
    """Return where the goods go."""
    return {
        "AddressLine": f"{PERSONAL}-street {number}",
        "City": "Pune",
        "State": "Maharashtra",
        "PinCode": f"{PERSONAL}-pin",
        "ContactNumber": f"{PERSONAL}-phone-{number}",
    }


def sales(count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield (key, value) of a day: some invoices are sent twice, some records are broken."""
    random = Random(seed)
    for number in range(count):
        one = sale(number, random)
        yield one["StoreID"], json.dumps(one).encode()
        if random.random() < 0.05:
            yield one["StoreID"], json.dumps(one).encode()
        if random.random() < 0.02:
            yield one["StoreID"], random.choice([b"{", b"\xff\xfe", b'{"InvoiceNumber": "7"}'])


def recorded(values: Iterable[bytes]) -> dict[str, Sale]:
    """Return the invoices that must be recorded, by number: the first of each that is whole."""
    found: dict[str, Sale] = {}
    for value in values:
        try:
            one = json.loads(value)
        except ValueError:
            continue
        if "InvoiceLineItems" in one:
            found.setdefault(one["InvoiceNumber"], one)
    return found


def shipped(invoices: dict[str, Sale]) -> set[str]:
    """Return the numbers of the invoices that must be told to who delivers."""
    return {
        number for number, one in invoices.items() if one["DeliveryType"].upper() == "HOME-DELIVERY"
    }


def earned(one: Sale) -> int | None:
    """Return the hundredths of points that an invoice earns; None: there is no award."""
    if one["CustomerType"].upper() != "PRIME" or one["CustomerCardNo"] is None:
        return None
    cents = int(Decimal(str(one["TotalAmount"])) * 100)
    return cents * 2 // 100


def totals(invoices: dict[str, Sale]) -> dict[str, int]:
    """Return the hundredths of points of every card."""
    found: dict[str, int] = defaultdict(int)
    for one in invoices.values():
        if (points := earned(one)) is not None:
            found[one["CustomerCardNo"]] += points
    return dict(found)

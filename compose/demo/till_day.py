"""A day at the tills of three stores: what they send, and what must come of it.

The same for the same seed. Some invoices are sent twice, as a till does that got no answer; some
records are no invoices at all.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

SEED = 29
STORES = ("STR2629", "STR5494", "STR7188")
CUSTOMERS = 400
OPENS = 1_795_248_000_000  # 2026-11-21T08:00:00Z
PRICES = (49, 99, 129, 199, 499, 1299)  # whole units: totals add up as a person would add them
BROKEN = (b'{"InvoiceNumber": "7"', b"\xff\xfe\x00", b'{"InvoiceNumber": "7", "StoreID": "STR1"}')

Record = tuple[str, bytes]  # store, value


@dataclass
class TillDay:
    """What was sent and, worked out while it was written, what must come of it.

    `points` are hundredths by customer card; `stores` are those that a customer paid in.
    """

    records: list[Record] = field(default_factory=list)
    invoices: int = 0
    lines: int = 0
    repeated: int = 0
    broken: int = 0
    deliveries: int = 0
    awards: int = 0
    points: Counter[str] = field(default_factory=Counter)
    stores: dict[str, set[str]] = field(default_factory=dict)


def till_day(invoices: int, seed: int = SEED) -> TillDay:
    """Return a day with so many invoices."""
    random = Random(seed)
    day = TillDay()
    for number in range(invoices):
        _take(day, invoice := _invoice(number, random))
        record = (str(invoice["StoreID"]), json.dumps(invoice).encode())
        day.records.append(record)
        if random.random() < 0.02:
            day.records.append(record)
            day.repeated += 1
        if random.random() < 0.005:
            day.records.append((random.choice(STORES), random.choice(BROKEN)))
            day.broken += 1
    return day


def _take(day: TillDay, invoice: dict[str, Any]) -> None:
    day.invoices += 1
    day.lines += len(invoice["InvoiceLineItems"])
    day.deliveries += invoice["DeliveryType"] == "HOME-DELIVERY"
    if invoice["CustomerType"] == "PRIME":
        card = str(invoice["CustomerCardNo"])
        day.awards += 1
        day.points[card] += 2 * int(invoice["TotalAmount"])  # 0.02 points a unit, in hundredths
        day.stores.setdefault(card, set()).add(str(invoice["StoreID"]))


def _invoice(number: int, random: Random) -> dict[str, Any]:
    lines = [*_lines(random)]
    total = sum(line["TotalValue"] for line in lines)
    home = random.random() < 0.3
    return {
        "InvoiceNumber": f"INV{number:06}",
        "CreatedTime": OPENS + number * 1000,
        "StoreID": random.choice(STORES),
        "PosID": f"POS{random.randint(1, 9)}",
        "CashierID": f"OAS{random.randint(100, 199)}",
        "CustomerType": random.choice(("PRIME", "PRIME", "NONPRIME")),
        "CustomerCardNo": f"{4_629_000_000 + random.randrange(CUSTOMERS)}",
        "TotalAmount": float(total),
        "NumberOfItems": len(lines),
        "PaymentMethod": random.choice(("CASH", "CARD")),
        "TaxableAmount": float(total),
        "CGST": total * 0.025,
        "SGST": total * 0.025,
        "CESS": total * 0.00125,
        "DeliveryType": "HOME-DELIVERY" if home else "TAKEAWAY",
        "DeliveryAddress": _address(random) if home else None,
        "InvoiceLineItems": lines,
    }


def _lines(random: Random) -> Iterator[dict[str, Any]]:
    for _ in range(random.randint(3, 9)):
        price, quantity = random.choice(PRICES), random.randint(1, 3)
        yield {
            "ItemCode": f"{random.randint(100, 999)}",
            "ItemDescription": random.choice(("Wine glass", "Sideboard", "Bin bag", "Bread bin")),
            "ItemPrice": float(price),
            "ItemQty": quantity,
            "TotalValue": float(price * quantity),
        }


def _address(random: Random) -> dict[str, str]:
    return {
        "AddressLine": f"{random.randint(1, 200)}, Station Road",
        "City": random.choice(("Pune", "Mumbai", "Nagpur")),
        "State": "Maharashtra",
        "PinCode": f"{random.randint(400_001, 444_999)}",
        "ContactNumber": f"{random.randint(10**9, 10**10 - 1)}",
    }

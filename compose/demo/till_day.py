"""A day at the tills of three stores: the same for the same seed.

Some invoices are sent twice, as a till does that got no answer; some records are no invoices.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

SEED = 29
STORES = ("STR2629", "STR5494", "STR7188")
CUSTOMERS = 400
OPENS = 1_795_248_000_000  # 2026-11-21T08:00:00Z
PRICES = (49, 99, 129, 199, 499, 1299)  # whole units: totals add up as a person would add them
STREET = "Station Road"
BROKEN = (b'{"InvoiceNumber": "7"', b"\xff\xfe\x00", b'{"InvoiceNumber": "7", "StoreID": "STR1"}')
EVERY = {"PosID": "POS1", "CashierID": "OAS134", "PaymentMethod": "CARD"}
ADDRESS = {"AddressLine": f"7, {STREET}", "City": "Pune", "State": "Maharashtra"}
ADDRESS |= {"PinCode": "411001", "ContactNumber": "2025550123"}

Invoice = dict[str, Any]


@dataclass
class TillDay:
    """What was sent (store, value), of which invoices; some came again, or were none."""

    records: list[tuple[str, bytes]] = field(default_factory=list)
    invoices: list[Invoice] = field(default_factory=list)
    repeated: int = 0
    broken: int = 0

    @property
    def prime(self) -> list[Invoice]:
        """The invoices that earn points."""
        return [one for one in self.invoices if one["CustomerType"] == "PRIME"]

    @property
    def points(self) -> Counter[str]:
        """Hundredths of points by customer card."""
        points: Counter[str] = Counter()
        for one in self.prime:
            points[one["CustomerCardNo"]] += 2 * int(one["TotalAmount"])  # 0.02 points a unit
        return points


def till_day(invoices: int, seed: int = SEED) -> TillDay:
    """Return a day with so many invoices."""
    random, day = Random(seed), TillDay()
    for number in range(invoices):
        invoice = _invoice(number, random)
        record = (str(invoice["StoreID"]), json.dumps(invoice).encode())
        day.invoices.append(invoice)
        day.records.append(record)
        if random.random() < 0.02:
            day.records.append(record)
            day.repeated += 1
        if random.random() < 0.005:
            day.records.append((random.choice(STORES), random.choice(BROKEN)))
            day.broken += 1
    return day


def _invoice(number: int, random: Random) -> Invoice:
    lines = [_line(random) for _ in range(random.randint(3, 9))]
    total = sum(line["TotalValue"] for line in lines)
    home = random.random() < 0.3
    taxes = {"TaxableAmount": total, "CGST": total / 40, "SGST": total / 40, "CESS": total / 800}
    return EVERY | {
        "InvoiceNumber": f"INV{number:06}",
        "CreatedTime": OPENS + number * 1000,
        "StoreID": random.choice(STORES),
        "CustomerType": random.choice(("PRIME", "PRIME", "NONPRIME")),
        "CustomerCardNo": f"{4_629_000_000 + random.randrange(CUSTOMERS)}",
        "TotalAmount": total,
        "NumberOfItems": len(lines),
        **taxes,
        "DeliveryType": "HOME-DELIVERY" if home else "TAKEAWAY",
        "DeliveryAddress": ADDRESS if home else None,
        "InvoiceLineItems": lines,
    }


def _line(random: Random) -> dict[str, Any]:
    price, quantity = float(random.choice(PRICES)), random.randint(1, 3)
    sold = {"ItemCode": f"{random.randint(100, 999)}", "ItemDescription": "Wine glass"}
    return sold | {"ItemPrice": price, "ItemQty": quantity, "TotalValue": price * quantity}

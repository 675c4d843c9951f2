"""`loyalty`: what an invoice earned a customer, and the total with it."""

from typing import Any

from schemas.loyalty import PointsAwarded
from schemas.till_names import units
from verdict import Notification, RecordedEvent


def _tell(event: RecordedEvent) -> dict[str, Any] | None:
    awarded = event.payload
    if not isinstance(awarded, PointsAwarded):
        return None
    return {
        "InvoiceNumber": awarded.invoice_number,
        "CustomerCardNo": event.aggregate_id,
        "TotalAmount": units(awarded.total_cents),
        "EarnedLoyaltyPoints": units(awarded.points_hundredths),
        "TotalLoyaltyPoints": units(awarded.total_points_hundredths),
    }


loyalty_notification = Notification("loyalty", ("loyalty",), "loyalty", _tell)

"""`shipment`: the whole invoice of each home delivery."""

from typing import Any

from schemas.invoice import InvoiceRecorded, is_home_delivery
from schemas.till_names import in_till_names
from verdict import Notification, RecordedEvent


def _tell(event: RecordedEvent) -> dict[str, Any] | None:
    invoice = event.payload
    if not isinstance(invoice, InvoiceRecorded) or not is_home_delivery(invoice.delivery_type):
        return None
    return {"InvoiceNumber": event.aggregate_id} | in_till_names(invoice)


shipment = Notification("shipment", ("invoice",), "shipment", _tell)

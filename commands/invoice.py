"""What may be asked of an invoice; its id is the invoice number."""

from pydantic import Field

from schemas.invoice import Amount, DeliveryAddress, InvoiceLineItem, PersonalName, PersonalText
from verdict import CREATING, Command, Instant, Name, Positive, Text


class RecordInvoice(Command):
    """A till took money; it cannot be refused any more, only recorded once."""

    starts_from = CREATING

    created_time: Instant
    store_id: Name
    pos_id: Text
    cashier_id: PersonalText
    customer_type: Text
    customer_card_no: PersonalName | None = None
    total_amount_cents: Amount
    number_of_items: Positive
    payment_method: Text
    taxable_amount_cents: Amount
    cgst_cents: Amount
    sgst_cents: Amount
    cess_cents: Amount
    delivery_type: Text
    delivery_address: DeliveryAddress | None = None
    invoice_line_items: list[InvoiceLineItem] = Field(min_length=1)


InvoiceCommand = RecordInvoice

"""Invoice events: what the `invoice.events` topic holds, forever.

A class name here is a storage format. Renaming one or dropping a field breaks
every replay; add a new event instead. An invoice's id is its number.
"""

from typing import Annotated

from pydantic import Field

from verdict import Event, Instant, Message, Name, Personal, Positive, Text
from verdict.model import LARGEST

Amount = Annotated[int, Field(ge=0, le=LARGEST, description="Amount in cents, which may be 0.")]
PersonalText = Annotated[Text, Personal()]
PersonalName = Annotated[Name, Personal()]


class DeliveryAddress(Message):
    """Where an invoice's goods go; a post code may be shared by a few houses only."""

    address_line: PersonalText | None = None
    city: Text | None = None
    state: Text | None = None
    pin_code: PersonalText | None = None
    contact_number: PersonalText | None = None


class InvoiceLineItem(Message):
    """One article of an invoice."""

    item_code: Text
    item_description: Text | None = None
    item_price_cents: Amount
    item_qty: Positive
    total_value_cents: Amount


class InvoiceRecorded(Event):
    """A till took money; `cashier_id` is a person's, `customer_card_no` names a customer."""

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


InvoiceEvent = InvoiceRecorded


def is_prime(customer_type: str) -> bool:
    """Tell whether a customer of this type collects points; tills write it as they like."""
    return customer_type.upper() == "PRIME"


def is_home_delivery(delivery_type: str) -> bool:
    """Tell whether the goods are brought to the customer; tills write it as they like."""
    return delivery_type.upper() == "HOME-DELIVERY"

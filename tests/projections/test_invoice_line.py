"""What the lake shows of an invoice: every line, and nothing that says who somebody is."""

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given

from projections.outbound.invoice_line import COLUMNS, invoice_lines
from schemas.invoice import DeliveryAddress, InvoiceLineItem, InvoiceRecorded
from tests.kit.log import EventLog
from tests.wire.arbitrary import events
from verdict.model.message import Message
from verdict.model.personal import personal_fields
from verdict.model.recorded_event import RecordedEvent
from verdict.model.source import Source

PLACE = Source("invoice.events", 3, 17)
PLANTED = "planted " * 6  # longer than what hypothesis makes
INVOICE = InvoiceRecorded(
    created_time=1_795_303_800_123, store_id="STR1", pos_id="POS7", cashier_id="OAS3",
    customer_type="PRIME", customer_card_no="4624", total_amount_cents=1100, number_of_items=2,
    payment_method="CARD", taxable_amount_cents=1000, cgst_cents=50, sgst_cents=50, cess_cents=1,
    delivery_type="HOME-DELIVERY",
    delivery_address=DeliveryAddress(
        address_line="3 Elm Rd", city="Pune", state="MH", pin_code="411001", contact_number="0800"
    ),
    invoice_line_items=[
        InvoiceLineItem(item_code="458", item_price_cents=300, item_qty=2, total_value_cents=600),
        InvoiceLineItem(item_code="9", item_description="tea", item_price_cents=5, item_qty=1,
                        total_value_cents=5),
    ],
)  # fmt: skip


def rows(invoice: InvoiceRecorded) -> list[dict[str, Any]]:
    return list(invoice_lines(recorded(invoice), PLACE))


def recorded(invoice: InvoiceRecorded) -> RecordedEvent:
    return EventLog(aggregate_type="invoice").add_unseen("INV-1", invoice)


def test_a_row_is_a_line_with_what_its_invoice_says() -> None:
    first, second = rows(INVOICE)

    assert list(first) == [column.name for column in COLUMNS]
    assert first | {"event_id": ""} == {
        "invoice_number": "INV-1", "line_number": 1,
        "created_time": datetime(2026, 11, 21, 23, 30, 0, 123_000, UTC),
        "store_id": "STR1", "pos_id": "POS7", "customer_type": "PRIME", "payment_method": "CARD",
        "delivery_type": "HOME-DELIVERY", "city": "Pune", "state": "MH",
        "total_amount_cents": 1100, "taxable_amount_cents": 1000, "cgst_cents": 50,
        "sgst_cents": 50, "cess_cents": 1, "number_of_items": 2, "item_code": "458",
        "item_description": None, "item_price_cents": 300, "item_qty": 2,
        "total_value_cents": 600, "event_id": "", "topic": "invoice.events", "partition": 3,
        "offset": 17, "created_date": date(2026, 11, 21),
    }  # fmt: skip
    assert first["event_id"] == recorded(INVOICE).event_id
    assert (second["line_number"], second["item_description"]) == (2, "tea")


def test_an_invoice_that_is_not_delivered_has_no_place() -> None:
    [first, _] = rows(INVOICE.model_copy(update={"delivery_address": None}))

    assert (first["city"], first["state"]) == (None, None)


def planted(message: Message) -> Message:
    """Return a message with a planted value in every personal field, at any depth."""
    return message.model_copy(
        update={
            name: PLANTED if name in personal_fields(type(message)) else _planted(value)
            for name, value in message
        }
    )


def _planted(value: Any) -> Any:
    if isinstance(value, Message):
        return planted(value)
    return [_planted(one) for one in value] if isinstance(value, list) else value


@pytest.mark.proves("P-06")
@given(events("invoice"))
def test_no_personal_value_is_in_any_row(invoice: InvoiceRecorded) -> None:
    with_plants = planted(invoice)
    assert isinstance(with_plants, InvoiceRecorded)

    found = rows(with_plants)

    assert PLANTED in repr(with_plants)
    assert PLANTED not in repr(found)
    assert len(found) == len(invoice.invoice_line_items)

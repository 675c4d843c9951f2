import pytest

from commands.invoice import RecordInvoice
from schemas.invoice import DeliveryAddress, InvoiceLineItem, InvoiceRecorded
from tests.application import APPLICATION
from verdict.model.command import LifeCycle
from verdict.testing import given

ITEM = InvoiceLineItem(
    item_code="598", item_price_cents=50_00, item_qty=2, total_value_cents=100_00
)
PAID = {
    "created_time": 1_795_262_400_000,
    "store_id": "STR2629",
    "pos_id": "POS608",
    "cashier_id": "OAS822",
    "total_amount_cents": 100_00,
    "number_of_items": 1,
    "payment_method": "CASH",
    "taxable_amount_cents": 100_00,
    "cgst_cents": 2_50,
    "sgst_cents": 2_50,
    "cess_cents": 0,
    "invoice_line_items": [ITEM],
}
TAKEN_AWAY = {"customer_type": "NONPRIME", "delivery_type": "TAKEAWAY"}
ADDRESS = DeliveryAddress(address_line="4 Main Street", city="Pune")


def recorded(**more: object) -> InvoiceRecorded:
    return InvoiceRecorded.model_validate(PAID | TAKEN_AWAY | more)


def record(**more: object) -> RecordInvoice:
    return RecordInvoice.model_validate(PAID | TAKEN_AWAY | more)


def test_an_invoice_is_recorded_as_it_was_sent() -> None:
    given(APPLICATION).when(record()).then(recorded())


@pytest.mark.proves("P-05")
def test_an_invoice_is_recorded_once() -> None:
    assert RecordInvoice.starts_from == {LifeCycle.NONE}


def test_a_prime_customer_is_recorded_with_a_card_and_without() -> None:
    for card in ("4629185211", None):
        sale = {"customer_type": "Prime", "customer_card_no": card}
        given(APPLICATION).when(record(**sale)).then(recorded(**sale))


def test_a_home_delivery_needs_an_address_however_it_is_written() -> None:
    for home in ("HOME-DELIVERY", "Home-Delivery"):
        given(APPLICATION).when(record(delivery_type=home)).then_refused(
            "ADDRESS_MISSING", f"a delivery of type {home} needs an address"
        )
    delivery = {"delivery_type": "home-delivery", "delivery_address": ADDRESS}
    given(APPLICATION).when(record(**delivery)).then(recorded(**delivery))

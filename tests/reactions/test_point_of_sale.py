import json
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands.invoice import RecordInvoice
from commands.point_of_sale import NoInvoiceError, command_of
from schemas.till_names import in_till_names, units
from tests.reactions.tills import PERSONAL, line, sale
from verdict.model.command_envelope import Expectation
from verdict.model.source import Source
from verdict.wire.json_lines import exact_json

pytestmark = pytest.mark.proves("P-01")

AT = Source("POS", 1, 7)
SALE = sale(5582023, Random(3)) | {"CustomerType": "PRIME"}


def sent(**changed: Any) -> bytes:
    return json.dumps(SALE | changed).encode()


def refusal(value: bytes) -> str:
    with pytest.raises(NoInvoiceError) as refused:
        command_of(value, AT)
    assert PERSONAL not in str(refused.value)
    return str(refused.value)


def test_an_invoice_becomes_a_command_that_creates_it() -> None:
    envelope, payload = command_of(sent(), AT)
    assert (envelope.command_id, envelope.aggregate_id) == ("POS:1:7", "5582023")
    assert envelope.expected_version is Expectation.NO_STREAM
    assert payload.store_id == SALE["StoreID"]
    assert payload.customer_card_no == SALE["CustomerCardNo"]
    assert len(payload.invoice_line_items) == len(SALE["InvoiceLineItems"])
    assert command_of(sent(Weather="fine"), AT) == (envelope, payload)
    numbered, payload = command_of(sent(InvoiceNumber=77, CustomerCardNo=46, CGST=292.175), AT)
    assert (numbered.aggregate_id, payload.customer_card_no) == ("77", "46")
    assert payload.cgst_cents == 292_18, "half a cent is rounded up"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (b"{", "value: Invalid JSON"),
        (b"\xff\xfe", "value: Invalid JSON"),
        (b"[]", "value: Input should be an object"),
        (sent(TotalAmount=-1), "TotalAmount: Input should be greater than or equal to 0"),
        (sent(TotalAmount=1e30), "TotalAmount: Decimal input should have no more than 18 digits"),
        (sent(InvoiceNumber=None), "InvoiceNumber: Input should be a valid string"),
        (sent(InvoiceNumber=""), "InvoiceNumber: String should have at least 1 character"),
        (sent(CustomerCardNo=f"{PERSONAL}\0"), "customer_card_no: String should match pattern"),
        (sent(CashierID={"name": PERSONAL}), "CashierID: Input should be a valid string"),
        (sent(InvoiceLineItems=[]), "invoice_line_items: List should have at least 1 item"),
        (sent(InvoiceLineItems=[{}]), "InvoiceLineItems.0.ItemCode: Field required"),
        (sent(CreatedTime="yesterday"), "CreatedTime: Input should be a valid value"),
    ],
)
def test_what_is_no_invoice_is_named_without_what_it_holds(value: bytes, problem: str) -> None:
    assert problem in refusal(value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.dictionaries(st.sampled_from(sorted(SALE)), JSON, min_size=1) | st.binary())
def test_whatever_comes_is_a_command_or_no_invoice(changed: dict[str, Any] | bytes) -> None:
    value = changed if isinstance(changed, bytes) else json.dumps(SALE | changed).encode()
    try:
        envelope, payload = command_of(value, AT)
    except NoInvoiceError:
        return
    assert envelope.aggregate_id
    assert isinstance(payload, RecordInvoice)


def test_a_delivery_reads_what_the_till_wrote() -> None:
    _, payload = command_of(sent(), AT)
    told = in_till_names(payload)
    assert told | {"InvoiceNumber": "5582023"} == SALE | {
        name: units(getattr(payload, field))
        for name, field in (("CGST", "cgst_cents"), ("SGST", "sgst_cents"))
    }


@pytest.mark.proves("P-01")
@given(st.integers(0, 10**18 - 1))
def test_a_reader_of_decimals_gets_each_amount_as_the_till_wrote_it(cents: int) -> None:
    """Both ways, from 1 to 18 digits: P-01, and what `shipment` and `loyalty` are told."""
    written = f"{cents // 100}.{cents % 100:02}"
    invoice = sent(TotalAmount=0).replace(
        b'"TotalAmount": 0', b'"TotalAmount": %b' % written.encode()
    )
    _, payload = command_of(invoice, AT)
    told = json.loads(exact_json(in_till_names(payload)), parse_float=Decimal)
    assert payload.total_amount_cents == cents
    assert told["TotalAmount"] == Decimal(written)


def test_a_number_that_would_take_any_memory_is_refused() -> None:
    for name in ("ItemQty", "ItemPrice"):
        endless = sent(InvoiceLineItems=[line(Random(1)) | {name: "N"}])
        assert f"InvoiceLineItems.0.{name}: Input should be a finite number" in refusal(
            endless.replace(b'"N"', b"1e999999999")
        )


@pytest.mark.parametrize("tiny", [b"1e-999999999", b"1e-9999999999999999999999"])
def test_a_number_of_any_exponent_is_read(tiny: bytes) -> None:
    _, payload = command_of(sent(TotalAmount="N").replace(b'"N"', tiny), AT)
    assert payload.total_amount_cents == 0
    _, payload = command_of(sent(Weather="N").replace(b'"N"', tiny), AT)
    assert payload == command_of(sent(), AT)[1]
    assert "TotalAmount" in refusal(sent(TotalAmount="N").replace(b'"N"', tiny.replace(b"-", b"")))

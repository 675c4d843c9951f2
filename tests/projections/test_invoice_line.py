"""What the lake shows of an invoice: every line, and nothing that says who somebody is."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import verdict.model.personal
from projections.outbound.invoice_line import COLUMNS, invoice_lines
from schemas.invoice import DeliveryAddress, InvoiceLineItem, InvoiceRecorded
from tests.kit.log import EventLog
from tests.tiers import examples
from tests.wire.arbitrary import events
from verdict.model.message import Message
from verdict.model.personal import personal_fields
from verdict.model.recorded_event import RecordedEvent
from verdict.model.source import Source

PLACE = Source("invoice.events", 3, 17)
PLANTED = "planted " * 6  # longer than what hypothesis makes
INVOICE = InvoiceRecorded(
    created_time=1_795_303_800_123,
    store_id="STR1",
    pos_id="POS7",
    cashier_id="OAS3",
    customer_type="PRIME",
    customer_card_no="4624",
    total_amount_cents=1100,
    number_of_items=2,
    payment_method="CARD",
    taxable_amount_cents=1000,
    cgst_cents=50,
    sgst_cents=50,
    cess_cents=1,
    delivery_type="HOME-DELIVERY",
    delivery_address=DeliveryAddress(
        address_line="3 Elm Rd", city="Pune", state="MH", pin_code="411001", contact_number="0800"
    ),
    invoice_line_items=[
        InvoiceLineItem(item_code="458", item_price_cents=300, item_qty=2, total_value_cents=600),
        InvoiceLineItem(
            item_code="9",
            item_description="tea",
            item_price_cents=5,
            item_qty=1,
            total_value_cents=5,
        ),
    ],
)


def rows(invoice: InvoiceRecorded) -> list[dict[str, Any]]:
    return list(invoice_lines(recorded(invoice), PLACE))


def recorded(invoice: InvoiceRecorded) -> RecordedEvent:
    return EventLog(aggregate_type="invoice").add_unseen("INV-1", invoice)


def test_a_row_is_a_line_with_what_its_invoice_says() -> None:
    first, second = rows(INVOICE)

    assert list(first) == [column.name for column in COLUMNS]
    assert first | {"event_id": ""} == {
        "invoice_number": "INV-1",
        "line_number": 1,
        "created_time": datetime(2026, 11, 21, 23, 30, 0, 123_000, UTC),
        "store_id": "STR1",
        "pos_id": "POS7",
        "customer_type": "PRIME",
        "payment_method": "CARD",
        "delivery_type": "HOME-DELIVERY",
        "city": "Pune",
        "state": "MH",
        "total_amount_cents": 1100,
        "taxable_amount_cents": 1000,
        "cgst_cents": 50,
        "sgst_cents": 50,
        "cess_cents": 1,
        "number_of_items": 2,
        "item_code": "458",
        "item_description": None,
        "item_price_cents": 300,
        "item_qty": 2,
        "total_value_cents": 600,
        "event_id": "",
        "topic": "invoice.events",
        "partition": 3,
        "offset": 17,
        "created_date": date(2026, 11, 21),
    }
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


def classes(kind: type[Message]) -> Iterator[type[Message]]:
    """Yield a class of messages and those of the messages in it."""
    yield kind
    for annotation in get_type_hints(kind).values():
        yield from (inner for part in _parts(annotation) for inner in classes(part))


def _parts(annotation: Any) -> Iterator[type[Message]]:
    if get_origin(annotation) is None and isinstance(annotation, type):
        if issubclass(annotation, Message):
            yield annotation
    else:
        yield from (part for argument in get_args(annotation) for part in _parts(argument))


FIELDS = [(kind, name) for kind in classes(InvoiceRecorded) for name in kind.model_fields]


@pytest.mark.proves("P-06")
@pytest.mark.parametrize(("kind", "name"), FIELDS, ids=str)
@settings(max_examples=examples(20))
@given(one=events("invoice"), other=events("invoice"), lines=st.integers(1, 3))
def test_to_mark_a_field_is_enough(
    kind: type[Message], name: str, one: InvoiceRecorded, other: InvoiceRecorded, lines: int
) -> None:
    """Whatever is marked: rows do not depend on it any more."""
    one, other = _as_long(one, lines), _as_long(other, lines)
    same = _with_value_of(one, other, kind, name)
    assert isinstance(same, InvoiceRecorded)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            verdict.model.personal,
            "personal_fields",
            lambda asked: personal_fields(asked) | ({name} if asked is kind else set()),
        )
        assert _shown(one) == _shown(same)


def _shown(invoice: InvoiceRecorded) -> list[dict[str, Any]]:
    # as the reader of the event does not know what the invoice was decided as
    return [row | {"event_id": ""} for row in rows(invoice)]


def _as_long(invoice: InvoiceRecorded, lines: int) -> InvoiceRecorded:
    items = (invoice.invoice_line_items * lines)[:lines]
    return invoice.model_copy(update={"invoice_line_items": items})


def _with_value_of(message: Any, other: Any, kind: type[Message], name: str) -> Any:
    """Return `message` with the field `name` of `kind`, at any depth, as it is in `other`."""
    if isinstance(message, list):
        pairs = zip(message, other, strict=True)
        return [_with_value_of(mine, theirs, kind, name) for mine, theirs in pairs]
    if not isinstance(message, Message) or other is None:
        return message
    changed = {
        field: getattr(other, field)
        if (type(message), field) == (kind, name)
        else _with_value_of(value, getattr(other, field), kind, name)
        for field, value in message
    }
    return message.model_copy(update=changed)


def test_without_a_mark_the_rows_do_depend_on_it() -> None:
    """The comparison above can fail."""
    other = INVOICE.model_copy(update={"store_id": "STR2"})

    assert _shown(INVOICE) != _shown(_with_value_of(INVOICE, other, InvoiceRecorded, "store_id"))

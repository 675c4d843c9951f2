"""One row per line item of an invoice, for the lake, without the fields marked as personal."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from schemas.invoice import InvoiceRecorded
from verdict import RecordedEvent
from verdict.model import LakeColumn as Column
from verdict.model import LakeTable, Source, masked

EPOCH = datetime.fromtimestamp(0, UTC)


PARTITION = Column("created_date", "DATE", "the day of created_time, in UTC")
COLUMNS = (
    Column("invoice_number", "STRING", "the invoice; with line_number, the key of a row"),
    Column("line_number", "INT", "place of the item on its invoice, from 1"),
    Column("created_time", "TIMESTAMP", "when the till wrote the invoice"),
    Column("store_id", "STRING", "where"),
    Column("pos_id", "STRING", "at which till"),
    Column("customer_type", "STRING", "as the till wrote it"),
    Column("payment_method", "STRING", "as the till wrote it"),
    Column("delivery_type", "STRING", "as the till wrote it"),
    Column("city", "STRING", "of the delivery, if there is one"),
    Column("state", "STRING", "of the delivery, if there is one"),
    Column("total_amount_cents", "BIGINT", "of the whole invoice, the same on all of its rows"),
    Column("taxable_amount_cents", "BIGINT", "of the whole invoice"),
    Column("cgst_cents", "BIGINT", "of the whole invoice"),
    Column("sgst_cents", "BIGINT", "of the whole invoice"),
    Column("cess_cents", "BIGINT", "of the whole invoice"),
    Column("number_of_items", "BIGINT", "on the whole invoice, as the till counted"),
    Column("item_code", "STRING", "the article"),
    Column("item_description", "STRING", "the article as text"),
    Column("item_price_cents", "BIGINT", "of one piece"),
    Column("item_qty", "BIGINT", "pieces"),
    Column("total_value_cents", "BIGINT", "of this line"),
    Column("event_id", "STRING", "the event that this row was made of"),
    Column("topic", "STRING", "position of that event in Kafka"),
    Column("partition", "INT", "of that topic"),
    Column("offset", "BIGINT", "in that partition"),
    PARTITION,
)


def invoice_lines(event: RecordedEvent, place: Source) -> Iterator[dict[str, Any]]:
    """Yield the rows of an event, whose place in Kafka is `place`; none if it is no invoice."""
    invoice = event.payload
    if not isinstance(invoice, InvoiceRecorded):
        return
    shown = masked(invoice)
    of_invoice = {
        **(shown["delivery_address"] or {}),
        **shown,
        **_when(shown["created_time"]),
        "invoice_number": event.aggregate_id,
        "event_id": event.event_id,
        "topic": place.topic,
        "partition": place.partition,
        "offset": place.offset,
    }
    items = shown["invoice_line_items"] or [{} for _ in invoice.invoice_line_items]
    for number, item in enumerate(items, 1):
        known = {**of_invoice, **item, "line_number": number}
        yield {column.name: known.get(column.name) for column in COLUMNS}


def _when(millis: int | None) -> dict[str, Any]:
    if millis is None:
        return {"created_time": None, PARTITION.name: None}
    moment = EPOCH + timedelta(milliseconds=millis)
    return {"created_time": moment, PARTITION.name: moment.date()}


invoice_line = LakeTable(
    name="invoice_line",
    aggregate_type="invoice",
    columns=COLUMNS,
    partition=PARTITION,
    rows=invoice_lines,
)

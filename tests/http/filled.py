"""A read side, as a service fills it, of what happened in memory."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from commands.invoice import RecordInvoice
from commands.order import DeleteOrder, FillOrder, ModifyOrder, PlaceOrder
from compose.application import app
from schemas.invoice import DeliveryAddress, InvoiceLineItem
from tests.wire.examples import INVOICE as EXAMPLE
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import ProjectionBatch
from verdict.read_side.apply.missing_events import missing_events
from verdict.read_side.catalog import projections
from verdict.read_side.live.decoding import RecordDecoder
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.settings.discovery import DATABASE
from verdict.testing.in_memory import InMemory
from verdict.wire.partitions import OffsetRange, TopicPartition

FLOW = "till-1"
LATE = "late"
ODD = "<img src=x onerror=alert(1)>/?#&\u202e'\n\r\n"
PLACE = PlaceOrder(client="ada", ticker="AAPL", side="BUY", quantity=10, limit_price_cents=150_00)
LINE = InvoiceLineItem(item_code="i", item_price_cents=1, item_qty=1, total_value_cents=1)
INVOICE = RecordInvoice(
    **EXAMPLE
    | {"cashier_id": "a-cashier", "customer_card_no": "card-1", "total_amount_cents": 100_00}
    | {"delivery_address": DeliveryAddress(address_line="a secret road", city="Pune")}
    | {"number_of_items": 1, "invoice_line_items": [LINE]}
)
PERSONAL = ("a-cashier", "a secret road")


def fill(url: str) -> None:
    """Let orders and an invoice happen, and leave their tables in the database at `url`."""
    with InMemory(app) as memory:
        memory.send("o-1", PLACE, 0, correlation_id="orders")
        memory.send("o-1", FillOrder(quantity=4, price_cents=1), 1, command_id="first")
        memory.send("o-1", ModifyOrder(quantity=20), 1, command_id=LATE, correlation_id="orders")
        memory.send("o-1", FillOrder(quantity=99, price_cents=1), 2, actor="ada")
        memory.send("gone", PLACE, 0)
        memory.send("gone", DeleteOrder(), 1)
        memory.send("gone", PLACE, "NO_STREAM", command_id="again")
        memory.send("never", DeleteOrder(), "EXISTS", command_id="nothing")
        forging = PLACE.model_copy(update={"client": "ada\n  2 OrderDeleted"})
        memory.send(ODD, forging, 0, command_id=ODD, correlation_id=ODD)
        memory.send(ODD, PLACE, 0, correlation_id=ODD)
        memory.send("inv-1", INVOICE, "NO_STREAM", correlation_id=FLOW)
        memory.send("inv-1", INVOICE, "NO_STREAM", correlation_id=FLOW, command_id="twice")
        keep(memory, url)


def altered(folder: Path, *statements: str, of: Path | None = None) -> Path:
    """Change the read side in a folder, after it was copied from `of`; return the folder."""
    folder.mkdir(exist_ok=True)
    if of is not None:
        shutil.copy(of / DATABASE, folder)
    with closing(sqlite3.connect(folder / DATABASE)) as database, database:
        for one in statements:
            database.execute(one)
    return folder


def keep(memory: InMemory, url: str) -> None:
    """Let every projection follow all that happened, in one batch."""
    topics, database = memory.topics, open_database(url)
    models = projections(topics.application)
    create_read_side(database, models)
    kinds = topics.application.aggregate_types
    names = [
        named(kind)
        for kind in kinds
        for named in (topics.events, topics.responses, topics.rejected)
    ]
    records = [record for name in names for record in memory.events(name)]
    decoding = RecordDecoder(topics)
    deliveries = [decoding.delivery(*one[:3], one.key, one.value) for one in records]
    spans = {
        TopicPartition(one.topic, one.partition): OffsetRange(0, one.offset + 1) for one in records
    }
    for model in models:
        Applier(database, model, topics, lambda: 0, missing=missing_events).follow(
            ProjectionBatch(deliveries, spans)
        )
    database.dispose()

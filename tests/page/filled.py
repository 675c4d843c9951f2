"""A read side on a file, as a service fills it, of what happened in memory."""

from pathlib import Path

from commands.invoice import RecordInvoice
from commands.order import DeleteOrder, FillOrder, ModifyOrder, PlaceOrder
from compose.application import app
from schemas.invoice import DeliveryAddress, InvoiceLineItem
from verdict.projection.declared import projections
from verdict.testing.in_memory import InMemory
from verdict.testing.log import MemoryLog
from verdict.testing.read_side import ReadSide

FLOW = "till-1"
LATE = "late"
ODD = "<img src=x onerror=alert(1)>/?#&\u202e'"
PLACE = PlaceOrder(client="ada", ticker="AAPL", side="BUY", quantity=10, limit_price_cents=150_00)
LINE = InvoiceLineItem(item_code="i", item_price_cents=1, item_qty=1, total_value_cents=1)
INVOICE = RecordInvoice(
    created_time=1_795_000_000_000,
    store_id="s",
    pos_id="p",
    cashier_id="a-cashier",
    customer_type="PRIME",
    customer_card_no="card-1",
    total_amount_cents=100_00,
    number_of_items=1,
    payment_method="CARD",
    taxable_amount_cents=1,
    cgst_cents=0,
    sgst_cents=0,
    cess_cents=0,
    delivery_type="HOME-DELIVERY",
    delivery_address=DeliveryAddress(address_line="a secret road", city="Pune"),
    invoice_line_items=[LINE],
)
PERSONAL = ("a-cashier", "a secret road")


def fill(folder: Path) -> None:
    """Let orders and an invoice happen, and leave their tables in `folder`."""
    with app.in_memory() as memory:
        memory.send("o-1", PLACE, 0, correlation_id="orders")
        memory.send("o-1", FillOrder(quantity=4, price_cents=1), 1, command_id="first")
        memory.send("o-1", ModifyOrder(quantity=20), 1, command_id=LATE, correlation_id="orders")
        memory.send("o-1", FillOrder(quantity=99, price_cents=1), 2)
        memory.send("gone", PLACE, 0)
        memory.send("gone", DeleteOrder(), 1)
        memory.send("gone", PLACE, "NO_STREAM", command_id="again")
        memory.send("never", DeleteOrder(), "EXISTS", command_id="nothing")
        memory.send(ODD, PLACE, 0, command_id=ODD, correlation_id=ODD)
        memory.send(ODD, PLACE, 0, correlation_id=ODD)
        memory.send("inv-1", INVOICE, "NO_STREAM", correlation_id=FLOW)
        memory.send("inv-1", INVOICE, "NO_STREAM", correlation_id=FLOW, command_id="twice")
        _keep(memory, folder)


def _keep(memory: InMemory, folder: Path) -> None:
    topics = memory.topics
    log = MemoryLog(topics)
    for kind in app.aggregate_types:
        for topic in (topics.events(kind), topics.responses(kind)):
            for record in memory.events(topic):
                log.put(record)
    side = ReadSide(folder, topics, projections(), lambda: 0)
    side.follow(log)
    side.close()

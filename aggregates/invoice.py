"""The rules of an invoice: it is recorded once, and says where its goods and points go."""

from commands.invoice import InvoiceCommand
from schemas.invoice import InvoiceEvent, InvoiceRecorded, is_home_delivery
from verdict import Aggregate, Message, Refused


class Invoice(Message):
    """What the rules need to know of an invoice: that it is there."""


def decide(invoice: Invoice | None, command: InvoiceCommand) -> list[InvoiceEvent]:
    """Return the event that `command` causes.

    Raises:
        Refused: A later step could not do its part.
    """
    assert invoice is None  # RecordInvoice starts without one
    if is_home_delivery(command.delivery_type) and command.delivery_address is None:
        raise Refused(
            "ADDRESS_MISSING", f"a delivery of type {command.delivery_type} needs an address"
        )
    return [InvoiceRecorded(**dict(command))]


def evolve(invoice: Invoice | None, event: InvoiceEvent) -> Invoice | None:
    """Return the invoice after `event`."""
    return Invoice()


invoice = Aggregate(
    "invoice",
    Invoice,
    decide,
    evolve,
    commands=InvoiceCommand,
    events=InvoiceEvent,
    handler_version="2",
)

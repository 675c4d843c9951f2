"""Whoever pays with a loyalty card is awarded points, whatever the store."""

from collections.abc import Iterator
from decimal import Decimal

from commands.loyalty import AwardPoints
from schemas.invoice import InvoiceRecorded, is_prime
from verdict import Dispatch, Policy, RecordedEvent

FACTOR = Decimal("0.02")


def react(
    event: RecordedEvent, loyalty_factor: Decimal = FACTOR
) -> Iterator[Dispatch[AwardPoints]]:
    """Yield the award for an invoice of a customer with a card.

    Args:
        event: Of any kind.
        loyalty_factor: Points for each unit of money, so hundredths of points for each cent.
    """
    invoice = event.payload
    if not isinstance(invoice, InvoiceRecorded) or not is_prime(invoice.customer_type):
        return
    if invoice.customer_card_no is None:
        return  # the card was left at home: there is no account to award points to
    award = AwardPoints(
        invoice_number=event.aggregate_id,
        total_cents=invoice.total_amount_cents,
        points_hundredths=int(invoice.total_amount_cents * loyalty_factor),  # rounded down
    )
    yield Dispatch(invoice.customer_card_no, award)


award_points = Policy("award_points", ("invoice",), react, settings=("loyalty_factor",))

"""What may be asked of a loyalty account; its id is the customer's card."""

from schemas.loyalty import Hundredths, InvoiceTotal
from verdict import Command, LifeCycle, Name

FIRST_OR_NEXT = frozenset({LifeCycle.NONE, LifeCycle.ACTIVE})


class AwardPoints(Command):
    """The first award opens the account."""

    starts_from = FIRST_OR_NEXT

    invoice_number: Name
    total_cents: InvoiceTotal
    points_hundredths: Hundredths


LoyaltyCommand = AwardPoints

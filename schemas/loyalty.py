"""Loyalty events: what the `loyalty.events` topic holds, forever.

A class name here is a storage format. Renaming one or dropping a field breaks
every replay; add a new event instead. A loyalty account's id is the customer's card.
"""

from typing import Annotated

from pydantic import Field

from verdict import Event, Name
from verdict.model import LARGEST

Hundredths = Annotated[int, Field(ge=0, le=LARGEST, description="Hundredths of a point.")]
InvoiceTotal = Annotated[int, Field(ge=0, le=LARGEST, description="Amount in cents.")]


class PointsAwarded(Event):
    """Points for one invoice, and the customer's total with them, over all stores."""

    invoice_number: Name
    total_cents: InvoiceTotal
    points_hundredths: Hundredths
    total_points_hundredths: Hundredths


LoyaltyEvent = PointsAwarded

"""What the topic `share-holders` carries, which others write: each position as it is now."""

from verdict import Name, Positive, Text
from verdict.model import StateRecord, StateTopic


class ShareHolding(StateRecord):
    """An open position."""

    client: Name
    ticker: Text
    amount: Positive
    exchange: Text


share_holders = StateTopic("share-holders", ShareHolding, about="position")

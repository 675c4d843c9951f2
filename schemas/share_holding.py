"""What the topic `share-holders` carries, which others write: each position as it is now."""

from verdict import CarriedState, Name, Positive, StateTopic, Text


class ShareHolding(CarriedState):
    """An open position."""

    client: Name
    ticker: Text
    amount: Positive
    exchange: Text


share_holders = StateTopic("share-holders", ShareHolding, about="position")

"""What the topic `share-holders` carries: the whole of a position as it is now, in JSON.

It is a compacted topic that others write: key = position id, value = the newest state, no value =
closed. What else they put into the value is theirs, and is passed over.
"""

from pydantic import ConfigDict

from verdict.model.message import Message, Name, Positive, Text


class ShareHolding(Message):
    """An open position; `id` is the record's key."""

    model_config = ConfigDict(extra="ignore")

    id: Name
    client: Name
    ticker: Text
    amount: Positive
    exchange: Text

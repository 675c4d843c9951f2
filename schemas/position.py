"""Position events: what the `position.events` topic holds, forever.

A class name here is a storage format. Renaming one or dropping a field breaks
every replay; add a new event instead.
"""

from verdict import Event, Positive, Text


class PositionOpened(Event):
    client: Text
    ticker: Text
    exchange: Text
    amount: Positive


class PositionAdjusted(Event):
    amount: Positive


class PositionRelisted(Event):
    exchange: Text


class PositionTransferred(Event):
    client: Text


class PositionClosed(Event):
    pass


PositionEvent = (
    PositionOpened | PositionAdjusted | PositionRelisted | PositionTransferred | PositionClosed
)

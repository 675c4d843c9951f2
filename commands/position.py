"""What may be asked of a position."""

from verdict import REOPENING, Command, Name, Positive, Text


class OpenPosition(Command):
    """Also opens a closed position again; its versions go on."""

    starts_from = REOPENING

    client: Name
    ticker: Text
    exchange: Text
    amount: Positive


class AdjustPosition(Command):
    amount: Positive


class RelistPosition(Command):
    exchange: Text


class TransferPosition(Command):
    client: Name


class ClosePosition(Command):
    pass


PositionCommand = OpenPosition | AdjustPosition | RelistPosition | TransferPosition | ClosePosition

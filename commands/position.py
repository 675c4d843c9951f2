"""What may be asked of a position."""

from commands.command import REOPENING, Command
from schemas.message import Positive, Text


class OpenPosition(Command):
    """Also opens a closed position again; its versions go on."""

    starts_from = REOPENING

    client: Text
    ticker: Text
    exchange: Text
    amount: Positive


class AdjustPosition(Command):
    amount: Positive


class RelistPosition(Command):
    exchange: Text


class TransferPosition(Command):
    client: Text


class ClosePosition(Command):
    pass


PositionCommand = OpenPosition | AdjustPosition | RelistPosition | TransferPosition | ClosePosition

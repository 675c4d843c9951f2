"""The rules of a position: who holds how much of what, and where it is listed."""

from typing import assert_never

from commands.position import (
    AdjustPosition,
    ClosePosition,
    OpenPosition,
    PositionCommand,
    RelistPosition,
    TransferPosition,
)
from schemas.position import (
    PositionAdjusted,
    PositionClosed,
    PositionEvent,
    PositionOpened,
    PositionRelisted,
    PositionTransferred,
)
from verdict import Aggregate, Message, Positive, Text


class Position(Message):
    """What the rules need to know of an open position."""

    client: Text
    exchange: Text
    amount: Positive


def decide(position: Position | None, command: PositionCommand) -> list[PositionEvent]:
    """Return the events that `command` causes; a command that changes nothing causes none."""
    if isinstance(command, OpenPosition):
        return [PositionOpened(**command.model_dump())]
    assert position is not None  # only OpenPosition starts without one
    match command:
        case AdjustPosition(amount=amount):
            return [PositionAdjusted(amount=amount)] if amount != position.amount else []
        case RelistPosition(exchange=exchange):
            return [PositionRelisted(exchange=exchange)] if exchange != position.exchange else []
        case TransferPosition(client=client):
            return [PositionTransferred(client=client)] if client != position.client else []
        case ClosePosition():
            return [PositionClosed()]
        case _:
            assert_never(command)


def evolve(position: Position | None, event: PositionEvent) -> Position | None:
    """Return the position after `event`; total, and it never refuses: the event happened."""
    if isinstance(event, PositionOpened):
        return Position(client=event.client, exchange=event.exchange, amount=event.amount)
    assert position is not None  # every history begins with PositionOpened
    match event:
        case PositionAdjusted(amount=amount):
            return position.model_copy(update={"amount": amount})
        case PositionRelisted(exchange=exchange):
            return position.model_copy(update={"exchange": exchange})
        case PositionTransferred(client=client):
            return position.model_copy(update={"client": client})
        case PositionClosed():
            return None
        case _:
            assert_never(event)


position = Aggregate(
    "position", Position, decide, evolve, commands=PositionCommand, events=PositionEvent
)

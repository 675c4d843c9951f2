"""The application with bugs in it, for tests of what becomes of them; Spark's workers import it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from aggregates.order import Order, order
from commands.order import CancelOrder
from compose.application import app as sound
from schemas.position import PositionAdjusted
from verdict.model.command import Command
from verdict.model.policy import Dispatch, Policy
from verdict.model.recorded_event import RecordedEvent


def decide(state: Order | None, command: Command) -> list[Any]:
    """Answer as the rules do, but for orders that are cancelled because they are slow."""
    if isinstance(command, CancelOrder) and command.cause == "too slow":
        raise ZeroDivisionError("a bug in the rules")
    return order.decide(state, command)


def react(event: RecordedEvent) -> Iterator[Dispatch]:
    """Ask for nothing, and fail where an amount is 1."""
    if isinstance(event.payload, PositionAdjusted) and event.payload.amount == 1:
        raise ZeroDivisionError("a bug in a policy")
    yield from ()


app = replace(
    sound,
    aggregates=tuple(
        replace(one, decide=decide) if one is order else one for one in sound.aggregates
    ),
    policies=(*sound.policies, Policy("faulty", ("position",), react)),
    lake=None,  # files do not matter here
)

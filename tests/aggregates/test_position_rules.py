from typing import Any

import pytest

from commands.position import (
    AdjustPosition,
    ClosePosition,
    OpenPosition,
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
from tests.application import APPLICATION
from verdict.model.command import Command, LifeCycle
from verdict.testing import Given, given

VALUES: dict[str, Any] = {"client": "client1", "exchange": "NASDAQ", "amount": 100}
OPENED = PositionOpened(ticker="AAPL", **VALUES)
nothing = given(APPLICATION)
an_open_position = nothing.given(OPENED)
a_closed_position = an_open_position.given(PositionClosed())


@pytest.mark.parametrize("before", [nothing, a_closed_position], ids=["new", "closed"])
def test_a_position_is_opened_with_what_was_asked(before: Given) -> None:
    before.when(OpenPosition(ticker="AAPL", **VALUES)).then(OPENED).then_state(**VALUES)


def test_opening_starts_where_there_is_no_open_position_and_all_else_where_there_is_one() -> None:
    assert OpenPosition.starts_from == {LifeCycle.NONE, LifeCycle.DELETED}
    for command in (AdjustPosition, RelistPosition, TransferPosition, ClosePosition):
        assert command.starts_from == {LifeCycle.ACTIVE}


@pytest.mark.parametrize(
    ("command", "event"),
    [
        (AdjustPosition(amount=1), PositionAdjusted(amount=1)),
        (RelistPosition(exchange="LON"), PositionRelisted(exchange="LON")),
        (TransferPosition(client="client2"), PositionTransferred(client="client2")),
    ],
)
def test_a_command_changes_its_value_and_nothing_else(
    command: Command, event: PositionEvent
) -> None:
    changed = an_open_position.when(command).then(event)

    changed.then_state(**{**VALUES, **command.model_dump()})
    changed.when(command).then()  # the same value again changes nothing
    [name] = command.model_dump()
    changed.when(type(command)(**{name: VALUES[name]})).then(type(event)(**{name: VALUES[name]}))


def test_closing_leaves_nothing_of_a_position() -> None:
    an_open_position.when(ClosePosition()).then(PositionClosed()).then_deleted()

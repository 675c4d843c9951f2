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
    PositionOpened,
    PositionRelisted,
    PositionTransferred,
)
from tests.application import APPLICATION
from verdict.model.command import Command, LifeCycle
from verdict.testing import given

OPENED = PositionOpened(client="client1", ticker="AAPL", exchange="NASDAQ", amount=100)
an_open_position = given(APPLICATION, OPENED)
a_closed_position = an_open_position.given(PositionClosed())


def test_opening_a_position_records_what_was_asked() -> None:
    open_position = OpenPosition(client="client1", ticker="AAPL", exchange="NASDAQ", amount=100)
    given(APPLICATION).when(open_position).then(OPENED).then_state(amount=100, exchange="NASDAQ")


def test_a_closed_position_may_be_opened_again_with_other_values() -> None:
    (
        a_closed_position.when(
            OpenPosition(client="client2", ticker="VOD", exchange="LON", amount=5)
        )
        .then(PositionOpened(client="client2", ticker="VOD", exchange="LON", amount=5))
        .then_state(client="client2", exchange="LON", amount=5)
    )


def test_opening_starts_where_there_is_no_open_position_and_all_else_where_there_is_one() -> None:
    assert OpenPosition.starts_from == {LifeCycle.NONE, LifeCycle.DELETED}
    for command in (AdjustPosition, RelistPosition, TransferPosition, ClosePosition):
        assert command.starts_from == {LifeCycle.ACTIVE}


def test_adjusting_replaces_the_amount_and_nothing_else() -> None:
    (
        an_open_position.when(AdjustPosition(amount=1))
        .then(PositionAdjusted(amount=1))
        .then_state(amount=1, exchange="NASDAQ", client="client1")
    )


def test_relisting_replaces_the_exchange_and_nothing_else() -> None:
    (
        an_open_position.when(RelistPosition(exchange="LON"))
        .then(PositionRelisted(exchange="LON"))
        .then_state(amount=100, exchange="LON", client="client1")
    )


def test_transferring_replaces_the_client_and_nothing_else() -> None:
    (
        an_open_position.when(TransferPosition(client="client2"))
        .then(PositionTransferred(client="client2"))
        .then_state(amount=100, exchange="NASDAQ", client="client2")
    )


@pytest.mark.parametrize(
    "same",
    [
        AdjustPosition(amount=100),
        RelistPosition(exchange="NASDAQ"),
        TransferPosition(client="client1"),
    ],
)
def test_a_command_for_the_same_value_changes_nothing(same: Command) -> None:
    an_open_position.when(same).then()


def test_sameness_is_measured_against_the_latest_value_not_the_first() -> None:
    adjusted = an_open_position.given(PositionAdjusted(amount=7))
    adjusted.when(AdjustPosition(amount=7)).then()
    adjusted.when(AdjustPosition(amount=100)).then(PositionAdjusted(amount=100))


def test_closing_leaves_nothing_of_a_position() -> None:
    an_open_position.when(ClosePosition()).then(PositionClosed()).then_deleted()

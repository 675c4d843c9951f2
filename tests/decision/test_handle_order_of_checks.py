import pytest

from commands.order import DeleteOrder, FillOrder, ModifyOrder
from commands.position import ClosePosition
from tests.decision.desk import FILL_ALL, MODIFY, OPEN, PLACE, after, command, judge
from tests.traffic import START
from verdict.decision.handle import Limits
from verdict.model.life_cycle import LifeCycle
from verdict.model.reason import Reason
from verdict.wire.response import Status

PLACED = after(PLACE)
COMPLETED = after(PLACE, FILL_ALL)
DELETED = after(PLACE, DeleteOrder())
CLOSED = after(OPEN, ClosePosition())


@pytest.mark.proves("C-09")
def test_the_deadline_is_checked_before_the_version() -> None:
    asked = command(MODIFY, 99, at=1, deadline=START)

    assert judge(asked, PLACED).response.reason is Reason.EXPIRED


@pytest.mark.parametrize(
    ("expected", "reason"),
    [
        (99, Reason.VERSION_CONFLICT),
        ("NO_STREAM", Reason.ALREADY_EXISTS),
        ("EXISTS", Reason.DELETED),
    ],
)
def test_the_expectation_is_checked_before_the_life_cycle(
    expected: int | str, reason: Reason
) -> None:
    assert judge(command(MODIFY, expected), DELETED).response.reason is reason


def test_the_expectation_is_checked_before_the_business_rule() -> None:
    overfill = FillOrder(quantity=11, price_cents=1)

    assert judge(command(overfill, 7), PLACED).response.reason is Reason.VERSION_CONFLICT


def test_the_life_cycle_is_checked_before_the_business_rule() -> None:
    verdict = judge(command(PLACE, 3), COMPLETED)

    assert verdict.response.reason is Reason.ALREADY_EXISTS


def test_the_business_rule_is_checked_before_the_size() -> None:
    overfill = FillOrder(quantity=11, price_cents=1)

    verdict = judge(command(overfill, 1), PLACED, limits=Limits(events_bytes=0))

    assert verdict.response.reason is Reason.BUSINESS_RULE


def test_a_command_without_events_is_never_too_large() -> None:
    same = command(ModifyOrder(quantity=10), 1)

    verdict = judge(same, PLACED, limits=Limits(events_bytes=0))

    assert verdict.response.status is Status.ACCEPTED


# What may be expected.


@pytest.mark.parametrize("expected", [1, "ANY", "EXISTS"])
def test_a_fitting_expectation_lets_a_command_through(expected: int | str) -> None:
    assert judge(command(MODIFY, expected), PLACED).response.status is Status.ACCEPTED


@pytest.mark.parametrize("expected", [0, "ANY", "NO_STREAM"])
def test_a_fitting_expectation_lets_a_creation_through(expected: int | str) -> None:
    assert judge(command(PLACE, expected)).response.status is Status.ACCEPTED


@pytest.mark.parametrize("expected", [2, "ANY"])
def test_a_closed_position_is_opened_again_and_its_versions_go_on(expected: int | str) -> None:
    verdict = judge(command(OPEN, expected, aggregate_id="p-1"), CLOSED)

    assert verdict.response.to_version == 3
    assert verdict.snapshot.life_cycle is LifeCycle.ACTIVE
    assert [stored.event.version for stored in verdict.events] == [3]
    assert verdict.events[0].event.previous_hash == CLOSED.last_hash


def test_the_default_memory_is_a_day() -> None:
    assert Limits().memory_ms == 86_400_000

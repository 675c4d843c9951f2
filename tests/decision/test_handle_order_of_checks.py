import pytest

from commands.order import DeleteOrder, FillOrder, ModifyOrder
from commands.position import ClosePosition
from tests.decision.desk import FILL_ALL, MODIFY, OPEN, PLACE, after, command, judge
from tests.traffic import START
from verdict.model.command import LifeCycle
from verdict.model.reason import Reason
from verdict.wire.response import Status
from verdict.write_side.decide.handle import Limits
from verdict.write_side.decide.snapshot import Snapshot

PLACED = after(PLACE)
COMPLETED = after(PLACE, FILL_ALL)
DELETED = after(PLACE, DeleteOrder())
CLOSED = after(OPEN, ClosePosition())


@pytest.mark.proves("C-09")
def test_the_deadline_is_checked_before_the_version() -> None:
    asked = command(MODIFY, 99, at=1, deadline=START)

    assert judge(asked, PLACED).response.reason is Reason.EXPIRED


@pytest.mark.proves("C-17")
def test_a_quarantined_aggregate_rejects_every_new_command_before_all_other_checks() -> None:
    asked = command(MODIFY, 99, at=1, deadline=START)

    verdict = judge(asked, Snapshot(3, quarantined=True))

    answer = verdict.response
    assert (answer.reason, answer.retriable, verdict.remembered) == (
        Reason.QUARANTINED,
        True,
        False,
    )
    assert answer.message is not None
    assert "its history is damaged from version 3 on" in answer.message
    assert answer.command_digest == asked.digest
    unknown = (
        answer.from_version, answer.to_version, answer.expected_version, answer.actual_version,
        answer.actual_state, answer.last_hash,
    )  # fmt: skip
    assert unknown == (None,) * 6


@pytest.mark.proves("C-06", "C-17")
def test_a_known_command_id_is_answered_though_its_aggregate_is_quarantined() -> None:
    asked = command(PLACE)
    first = judge(asked).response
    other = command(MODIFY, command_id=first.command_id)

    again = judge(asked, Snapshot(3, quarantined=True), earlier=first).response
    reused = judge(other, Snapshot(3, quarantined=True), earlier=first).response

    assert again == first.model_copy(update={"duplicate": True})
    assert (reused.reason, reused.to_version) == (Reason.COMMAND_ID_REUSED, None)


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

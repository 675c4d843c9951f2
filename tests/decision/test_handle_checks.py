from typing import Any

import pytest

from aggregates.order import order
from commands.order import CancelOrder, DeleteOrder, FillOrder, ModifyOrder
from commands.position import ClosePosition
from tests.decision.desk import FILL_ALL, MODIFY, OPEN, PLACE, after, command, judge
from tests.traffic import START
from verdict.model.reason import Reason
from verdict.wire.response import Status
from verdict.write_side.decide.handle import Limits
from verdict.write_side.decide.parse import ReceivedCommand
from verdict.write_side.decide.snapshot import NEVER_EXISTED, Snapshot

PLACED = after(PLACE)
COMPLETED = after(PLACE, FILL_ALL)
DELETED = after(PLACE, DeleteOrder())
CLOSED = after(OPEN, ClosePosition())


def assert_rejected(
    asked: ReceivedCommand,
    snapshot: Snapshot[Any],
    reason: Reason,
    message: str,
    details: dict[str, int | str] | None = None,
    *,
    limits: Limits | None = None,
) -> None:
    verdict = judge(asked, snapshot, limits=limits)
    response = verdict.response
    assert (response.reason, response.message) == (reason, message)
    assert response.details == (details or {})
    assert response.status is Status.REJECTED
    assert not response.duplicate
    assert not response.retriable
    assert response.event_ids == []
    assert response.from_version == response.to_version == snapshot.version
    assert response.expected_version == asked.envelope.expected_version
    assert (response.actual_version, response.actual_state) == (
        snapshot.version,
        snapshot.life_cycle,
    )
    assert verdict.events == ()
    assert verdict.snapshot == snapshot
    assert verdict.stored is None
    assert verdict.remembered


def test_an_accepted_command_says_from_which_version_to_which() -> None:
    verdict = judge(command(FILL_ALL, 1, offset=7, at=30), PLACED)

    response = verdict.response
    assert response.status is Status.ACCEPTED
    assert (response.from_version, response.to_version) == (1, 3)
    assert response.event_ids == [stored.event.event_id for stored in verdict.events]
    assert response.command_type == "FillOrder"
    assert response.expected_version == 1
    assert response.decided_at == START + 30
    assert response.handler_version == order.handler_version
    assert (response.reason, response.message, response.details) == (None, None, {})
    assert (response.actual_version, response.actual_state) == (None, None)
    assert verdict.remembered


def test_a_command_that_changes_nothing_is_accepted_without_events() -> None:
    verdict = judge(command(ModifyOrder(quantity=10), 1, at=5), PLACED)

    assert verdict.response.status is Status.ACCEPTED
    assert (verdict.response.from_version, verdict.response.to_version) == (1, 1)
    assert (verdict.response.event_ids, verdict.events, verdict.stored) == ([], (), None)
    assert verdict.snapshot == PLACED
    assert verdict.remembered


# One test for each reason.


@pytest.mark.proves("C-09")
def test_a_command_that_reached_kafka_after_its_deadline_is_expired() -> None:
    assert_rejected(
        command(MODIFY, 1, at=1500, deadline=START + 1000),
        PLACED,
        Reason.EXPIRED,
        "reached Kafka at 2026-11-18T11:06:41.500Z, 500 ms after its deadline "
        "2026-11-18T11:06:41.000Z",
        {"late_ms": 500},
    )


@pytest.mark.parametrize("spare_ms", [0, 1])
def test_a_command_that_reached_kafka_by_its_deadline_is_decided(spare_ms: int) -> None:
    verdict = judge(command(MODIFY, 1, at=1000, deadline=START + 1000 + spare_ms), PLACED)

    assert verdict.response.status is Status.ACCEPTED


def test_the_deadline_is_held_against_kafkas_time_not_the_aggregates() -> None:
    later = after(PLACE, at=5000)

    verdict = judge(command(MODIFY, 1, at=1000, deadline=START + 1000), later)

    assert verdict.response.status is Status.ACCEPTED


@pytest.mark.proves("C-09")
@pytest.mark.parametrize("expected", [0, 2, 2**63 - 1])
def test_another_version_than_expected_is_a_conflict(expected: int) -> None:
    assert_rejected(
        command(MODIFY, expected),
        PLACED,
        Reason.VERSION_CONFLICT,
        f"expected version {expected}, order 'order-1' is ACTIVE at version 1",
    )


@pytest.mark.proves("C-03")
def test_the_loser_of_two_place_orders_with_version_0_gets_a_conflict() -> None:
    assert_rejected(
        command(PLACE, 0),
        PLACED,
        Reason.VERSION_CONFLICT,
        "expected version 0, order 'order-1' is ACTIVE at version 1",
    )


@pytest.mark.proves("C-09")
def test_the_loser_of_two_place_orders_with_no_stream_learns_that_it_exists() -> None:
    assert_rejected(
        command(PLACE, "NO_STREAM"),
        PLACED,
        Reason.ALREADY_EXISTS,
        "expected no order 'order-1', it is ACTIVE at version 1",
    )


def test_no_stream_fails_on_a_deleted_aggregate_too() -> None:
    assert_rejected(
        command(PLACE, "NO_STREAM"),
        DELETED,
        Reason.ALREADY_EXISTS,
        "expected no order 'order-1', it is DELETED at version 2",
    )
    assert_rejected(
        command(OPEN, "NO_STREAM", aggregate_id="p-1"),
        CLOSED,
        Reason.ALREADY_EXISTS,
        "expected no position 'p-1', it is DELETED at version 2",
    )


@pytest.mark.proves("C-09")
@pytest.mark.parametrize("expected", ["ANY", "EXISTS"])
def test_what_never_existed_is_not_found(expected: str) -> None:
    assert_rejected(
        command(MODIFY, expected),
        NEVER_EXISTED,
        Reason.NOT_FOUND,
        "order 'order-1' does not exist",
    )


def test_exists_fails_even_for_a_command_that_would_create() -> None:
    assert_rejected(
        command(PLACE, "EXISTS"),
        NEVER_EXISTED,
        Reason.NOT_FOUND,
        "order 'order-1' does not exist",
    )
    assert_rejected(
        command(OPEN, "EXISTS", aggregate_id="p-1"),
        CLOSED,
        Reason.DELETED,
        "position 'p-1' was deleted at version 2",
    )


@pytest.mark.proves("C-09")
@pytest.mark.parametrize("expected", ["ANY", "EXISTS"])
@pytest.mark.parametrize("late", [MODIFY, CancelOrder(), DeleteOrder()])
def test_a_command_behind_a_delete_learns_that_it_was_deleted(
    expected: str, late: ModifyOrder | CancelOrder | DeleteOrder
) -> None:
    assert_rejected(
        command(late, expected),
        DELETED,
        Reason.DELETED,
        "order 'order-1' was deleted at version 2",
    )


def test_a_command_behind_a_delete_with_an_integer_gets_a_conflict_that_says_deleted() -> None:
    assert_rejected(
        command(MODIFY, 1),
        DELETED,
        Reason.VERSION_CONFLICT,
        "expected version 1, order 'order-1' is DELETED at version 2",
    )


def test_an_order_is_placed_only_once_even_when_anything_is_expected() -> None:
    assert_rejected(
        command(PLACE, "ANY"),
        PLACED,
        Reason.ALREADY_EXISTS,
        "PlaceOrder needs a new order, order 'order-1' is ACTIVE at version 1",
    )
    assert_rejected(
        command(PLACE, 1),
        PLACED,
        Reason.ALREADY_EXISTS,
        "PlaceOrder needs a new order, order 'order-1' is ACTIVE at version 1",
    )


def test_a_deleted_order_is_not_placed_again() -> None:
    assert_rejected(
        command(PLACE, 2), DELETED, Reason.DELETED, "order 'order-1' was deleted at version 2"
    )


@pytest.mark.proves("C-09")
def test_a_broken_rule_gives_its_code_and_its_numbers() -> None:
    assert_rejected(
        command(FillOrder(quantity=11, price_cents=1), 1),
        PLACED,
        Reason.BUSINESS_RULE,
        "cannot fill 11: 10 of 10 are open",
        {"code": "OVERFILL", "quantity": 11, "open": 10},
    )


@pytest.mark.proves("C-09")
def test_events_that_are_too_large_together_are_refused_as_a_whole() -> None:
    whole = judge(command(FILL_ALL, 1), PLACED)
    size = sum(len(stored.value) for stored in whole.events)

    assert len(whole.events) == 2
    assert judge(command(FILL_ALL, 1), PLACED, limits=Limits(events_bytes=size)) == whole
    assert_rejected(
        command(FILL_ALL, 1),
        PLACED,
        Reason.TOO_LARGE,
        f"its 2 events take {size} bytes: {size - 1} are allowed",
        {"bytes": size, "limit": size - 1},
        limits=Limits(events_bytes=size - 1),
    )


def test_events_of_one_mebibyte_are_allowed_by_default() -> None:
    assert Limits().events_bytes == 1_048_576


@pytest.mark.proves("C-11")
def test_a_command_that_is_stamped_beyond_the_calendar_is_expired_in_words() -> None:
    late = 10**17

    response = judge(command(MODIFY, 1, at=late, deadline=START), PLACED).response

    assert response.reason is Reason.EXPIRED
    assert f"reached Kafka at {START + late} ms after 1970, {late} ms" in (response.message or "")

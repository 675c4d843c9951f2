"""Each check of a command: what it refuses, with which reason and words, and in which order."""

from typing import Any

import pytest

from commands.order import CancelOrder, DeleteOrder, FillOrder, ModifyOrder
from commands.position import ClosePosition
from tests.decide.desk import FILL_ALL, MODIFY, OPEN, PLACE, after, command, judge
from tests.traffic import START
from verdict.model.reason import Reason
from verdict.wire.response import Status
from verdict.write_side.decide.command_checks import Limits
from verdict.write_side.decide.parse import ReceivedCommand
from verdict.write_side.decide.snapshot import NEVER_EXISTED, Snapshot

PLACED = after(PLACE)
COMPLETED = after(PLACE, FILL_ALL)
DELETED = after(PLACE, DeleteOrder())
CLOSED = after(OPEN, ClosePosition())
OVERFILL = FillOrder(quantity=11, price_cents=1)
DETAILS: dict[Reason, dict[str, int | str]] = {
    Reason.EXPIRED: {"late_ms": 500},
    Reason.BUSINESS_RULE: {"code": "OVERFILL", "quantity": 11, "open": 10},
}
ABSENT = "order 'order-1' does not exist"
GONE = "order 'order-1' was deleted at version 2"
THERE = "PlaceOrder needs a new order, order 'order-1' is ACTIVE at version 1"
ACTIVE = "order 'order-1' is ACTIVE at version 1"


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
    assert (response.duplicate, response.retriable, response.event_ids) == (False, False, [])
    assert response.from_version == response.to_version == snapshot.version
    assert response.expected_version == asked.envelope.expected_version
    actual = response.actual_version, response.actual_state
    assert actual == (snapshot.version, snapshot.life_cycle)
    assert (verdict.events, verdict.snapshot, verdict.stored) == ((), snapshot, None)
    assert verdict.remembered


def test_a_command_that_changes_nothing_is_accepted_without_events_and_never_too_large() -> None:
    same = command(ModifyOrder(quantity=10), 1, at=5)

    verdict = judge(same, PLACED, limits=Limits(events_bytes=0))

    assert verdict.response.status is Status.ACCEPTED
    assert (verdict.response.from_version, verdict.response.to_version) == (1, 1)
    assert (verdict.response.event_ids, verdict.events, verdict.stored) == ([], (), None)
    assert verdict.snapshot == PLACED
    assert verdict.remembered


@pytest.mark.proves("C-03", "C-09")
@pytest.mark.parametrize(
    ("asked", "snapshot", "reason", "message"),
    [
        (command(MODIFY, 1, at=1500, deadline=START + 1000), PLACED, Reason.EXPIRED,
         "reached Kafka at 2026-11-18T11:06:41.500Z, 500 ms after its deadline "
         "2026-11-18T11:06:41.000Z"),
        (command(OVERFILL, 1), PLACED, Reason.BUSINESS_RULE, "cannot fill 11: 10 of 10 are open"),
        *(
            (command(MODIFY, n), PLACED, Reason.VERSION_CONFLICT, f"expected version {n}, {ACTIVE}")
            for n in (0, 2, 2**63 - 1)
        ),
        (command(PLACE, 0), PLACED, Reason.VERSION_CONFLICT, f"expected version 0, {ACTIVE}"),
        (command(MODIFY, 1), DELETED, Reason.VERSION_CONFLICT,
         "expected version 1, order 'order-1' is DELETED at version 2"),
        (command(PLACE, "NO_STREAM"), PLACED, Reason.ALREADY_EXISTS,
         "expected no order 'order-1', it is ACTIVE at version 1"),
        (command(PLACE, "NO_STREAM"), DELETED, Reason.ALREADY_EXISTS,
         "expected no order 'order-1', it is DELETED at version 2"),
        (command(OPEN, "NO_STREAM", aggregate_id="p-1"), CLOSED, Reason.ALREADY_EXISTS,
         "expected no position 'p-1', it is DELETED at version 2"),
        (command(PLACE, "ANY"), PLACED, Reason.ALREADY_EXISTS, THERE),
        (command(PLACE, 1), PLACED, Reason.ALREADY_EXISTS, THERE),
        (command(MODIFY, "ANY"), NEVER_EXISTED, Reason.NOT_FOUND, ABSENT),
        (command(MODIFY, "EXISTS"), NEVER_EXISTED, Reason.NOT_FOUND, ABSENT),
        (command(PLACE, "EXISTS"), NEVER_EXISTED, Reason.NOT_FOUND, ABSENT),
        (command(OPEN, "EXISTS", aggregate_id="p-1"), CLOSED, Reason.DELETED,
         "position 'p-1' was deleted at version 2"),
        (command(PLACE, 2), DELETED, Reason.DELETED, GONE),
        *(
            (command(late, expected), DELETED, Reason.DELETED, GONE)
            for late in (MODIFY, CancelOrder(), DeleteOrder())
            for expected in ("ANY", "EXISTS")
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_rejected(
    asked: ReceivedCommand, snapshot: Snapshot[Any], reason: Reason, message: str
) -> None:
    assert_rejected(asked, snapshot, reason, message, DETAILS.get(reason))


@pytest.mark.parametrize(
    ("snapshot", "spare_ms"), [(PLACED, 0), (PLACED, 1), (after(PLACE, at=5000), 0)]
)
def test_a_command_that_reached_kafka_by_its_deadline_is_decided(
    snapshot: Snapshot[Any], spare_ms: int
) -> None:
    """Kafka's time of the record counts, and not the aggregate's."""
    verdict = judge(command(MODIFY, 1, at=1000, deadline=START + 1000 + spare_ms), snapshot)

    assert verdict.response.status is Status.ACCEPTED


@pytest.mark.proves("C-11")
def test_a_command_with_a_time_beyond_the_calendar_is_expired_with_a_message() -> None:
    late = 10**17

    response = judge(command(MODIFY, 1, at=late, deadline=START), PLACED).response

    assert response.reason is Reason.EXPIRED
    assert f"reached Kafka at {START + late} ms after 1970, {late} ms" in (response.message or "")


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


@pytest.mark.proves("C-09")
@pytest.mark.parametrize(
    ("asked", "snapshot", "reason"),
    [
        (command(MODIFY, 99, at=1, deadline=START), PLACED, Reason.EXPIRED),
        (command(MODIFY, 99), DELETED, Reason.VERSION_CONFLICT),
        (command(MODIFY, "NO_STREAM"), DELETED, Reason.ALREADY_EXISTS),
        (command(OVERFILL, 7), PLACED, Reason.VERSION_CONFLICT),
        (command(PLACE, 3), COMPLETED, Reason.ALREADY_EXISTS),
        (command(OVERFILL, 1), PLACED, Reason.BUSINESS_RULE),
    ],
    ids=["deadline, version", "version, life", "no stream, life", "version, rule", "life, rule",
         "rule, size"],
)  # fmt: skip
def test_the_first_check_that_fails_gives_the_reason(
    asked: ReceivedCommand, snapshot: Snapshot[Any], reason: Reason
) -> None:
    assert judge(asked, snapshot, limits=Limits(events_bytes=0)).response.reason is reason


@pytest.mark.proves("C-17")
def test_a_quarantined_aggregate_rejects_every_new_command_before_all_other_checks() -> None:
    asked = command(MODIFY, 99, at=1, deadline=START)

    verdict = judge(asked, Snapshot(3, quarantined=True))

    answer = verdict.response
    assert (answer.reason, answer.retriable) == (Reason.QUARANTINED, True)
    assert not verdict.remembered
    assert "its history is damaged from version 3 on" in (answer.message or "")
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

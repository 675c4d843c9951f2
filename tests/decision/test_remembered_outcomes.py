from typing import Any

import pytest

from commands.order import DeleteOrder, FillOrder
from tests.decision.desk import MODIFY, PLACE, Desk, after, as_json, command, judge
from tests.model import Record
from tests.traffic import START
from verdict.model.reason import Reason
from verdict.wire.records import decode, encode
from verdict.wire.response import Response, Status
from verdict.write_side.decide.handle import Limits
from verdict.write_side.decide.parse import ReceivedCommand
from verdict.write_side.decide.snapshot import NEVER_EXISTED, Snapshot

PLACED = after(PLACE)
DELETED = after(PLACE, DeleteOrder())
WINDOW = Limits(memory_ms=1000)
YEAR_MS = 365 * 24 * 60 * 60 * 1000


def first_answer(asked: ReceivedCommand) -> Response:
    """Return the answer as it comes back from the state: through its bytes."""
    return decode(Response, encode(judge(asked, PLACED, limits=WINDOW).response))


ACCEPTED = command(MODIFY, 1, offset=1)
REFUSED = command(FillOrder(quantity=11, price_cents=1), 1, offset=1)
CONFLICT = command(MODIFY, 9, offset=1)
LATE = command(MODIFY, 1, offset=1, deadline=START - 1)


@pytest.mark.proves("C-05")
@pytest.mark.parametrize("original", [ACCEPTED, REFUSED, CONFLICT, LATE])
@pytest.mark.parametrize("snapshot", [PLACED, DELETED, NEVER_EXISTED])
def test_the_same_command_again_gets_the_original_outcome_whatever_has_happened_since(
    original: ReceivedCommand, snapshot: Snapshot[Any]
) -> None:
    earlier = first_answer(original)
    again = command(
        original.payload, 77, offset=5, at=900, command_id="c-1", deadline=START,
        correlation_id="x", actor="bob",
    )  # fmt: skip

    verdict = judge(again, snapshot, earlier=earlier, limits=WINDOW)

    own = {"source": again.record.source, "correlation_id": "x", "actor": "bob"}
    assert verdict.response == earlier.model_copy(update={"duplicate": True, **own})
    assert verdict.events == ()
    assert verdict.snapshot == snapshot
    assert verdict.stored is None
    assert not verdict.remembered


@pytest.mark.proves("C-06")
def test_a_retry_whose_version_is_stale_by_its_own_success_is_no_conflict() -> None:
    first = judge(command(MODIFY, 1, offset=1), PLACED)
    retry = command(MODIFY, 1, offset=2, command_id="c-1")

    verdict = judge(retry, first.snapshot, earlier=first.response)

    assert (verdict.response.status, verdict.response.duplicate) == (Status.ACCEPTED, True)
    assert verdict.response.event_ids == first.response.event_ids


def test_a_duplicate_without_a_correlation_id_of_its_own_gets_its_command_id() -> None:
    earlier = first_answer(command(MODIFY, 1, offset=1, correlation_id="flow-1"))
    again = command(MODIFY, 1, offset=2, command_id="c-1")

    assert judge(again, PLACED, earlier=earlier).response.correlation_id == "c-1"


@pytest.mark.proves("C-05")
def test_the_same_command_in_json_is_a_duplicate_of_the_one_in_avro() -> None:
    desk = Desk()
    avro = command(PLACE, 0, offset=1).record
    desk.take(as_json({"type": "PlaceOrder"} | PLACE.model_dump(), command_id="c-1"))

    again = desk.take(Record("order.commands", 0, 1, START, avro.key, avro.value))

    assert again.response is not None
    assert again.response.duplicate


@pytest.mark.proves("C-05", "C-09")
def test_an_id_that_was_used_for_another_command_is_refused() -> None:
    earlier = first_answer(ACCEPTED)
    other = command(DeleteOrder(), "ANY", offset=5, at=900, command_id="c-1")

    verdict = judge(other, PLACED, earlier=earlier, limits=WINDOW)

    response = verdict.response
    assert response.reason is Reason.COMMAND_ID_REUSED
    assert response.message is not None
    assert "'c-1'" in response.message
    assert "ModifyOrder at 2026-11-18T11:06:40.000Z" in response.message
    assert response.command_digest == other.digest
    assert (response.duplicate, response.command_type) == (False, "DeleteOrder")
    assert (response.actual_version, response.decided_at) == (1, START + 900)
    assert not verdict.remembered  # the id still stands for the first command
    assert (verdict.events, verdict.stored) == ((), None)


@pytest.mark.proves("C-06")
def test_the_memory_is_asked_before_the_deadline_and_the_version() -> None:
    earlier = first_answer(ACCEPTED)
    other = command(DeleteOrder(), 9, offset=5, command_id="c-1", deadline=START - 1)

    reused = judge(other, PLACED, earlier=earlier)

    assert reused.response.reason is Reason.COMMAND_ID_REUSED


@pytest.mark.proves("C-05")
@pytest.mark.parametrize("at", [1001, 10 * YEAR_MS, -10 * YEAR_MS])
def test_no_time_of_a_record_ends_the_memory(at: int) -> None:
    """A broker's clock may leap: the state forgets, by a clock of its own."""
    earlier = first_answer(ACCEPTED)
    again = command(MODIFY, 1, offset=5, at=at, command_id="c-1")

    verdict = judge(again, PLACED, earlier=earlier, limits=WINDOW)

    assert (verdict.response.duplicate, verdict.remembered) == (True, False)
    assert verdict.events == ()


def test_ids_are_remembered_for_each_aggregate_on_its_own() -> None:
    desk = Desk()
    place = {"type": "PlaceOrder"} | PLACE.model_dump()

    first = desk.take(as_json(place))
    other = desk.take(as_json(place, key=b"order-2", aggregate_id="order-2"))

    assert first.response is not None
    assert other.response is not None
    assert (other.response.status, other.response.duplicate) == (Status.ACCEPTED, False)


def test_a_malformed_command_is_not_remembered() -> None:
    desk = Desk()
    bad = desk.take(as_json({"type": "PlaceOrder"}))
    good = desk.take(as_json({"type": "PlaceOrder"} | PLACE.model_dump()))

    assert bad.response is not None
    assert bad.response.reason is Reason.INVALID_COMMAND
    assert good.response is not None
    assert (good.response.status, good.response.duplicate) == (Status.ACCEPTED, False)


def test_a_malformed_command_is_invalid_even_under_an_id_that_was_used() -> None:
    desk = Desk()
    desk.take(as_json({"type": "PlaceOrder"} | PLACE.model_dump()))

    bad = desk.take(as_json({"type": "PlaceOrder"}))

    assert bad.response is not None
    assert (bad.response.reason, bad.response.duplicate) == (Reason.INVALID_COMMAND, False)

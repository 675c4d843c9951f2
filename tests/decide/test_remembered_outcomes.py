"""What becomes of a command id that is known."""

from typing import Any

import pytest

from commands.order import DeleteOrder, FillOrder
from tests.decide.desk import MODIFY, PLACE, after, command, judge
from tests.traffic import START
from verdict.model.reason import Reason
from verdict.wire.records import decode, encode
from verdict.wire.response import Response
from verdict.write_side.decide.command_checks import Limits
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


@pytest.mark.proves("C-05", "C-06")
@pytest.mark.parametrize("original", [ACCEPTED, REFUSED, CONFLICT, LATE])
@pytest.mark.parametrize("snapshot", [PLACED, DELETED, NEVER_EXISTED])
@pytest.mark.parametrize("at", [900, 1001, 10 * YEAR_MS, -10 * YEAR_MS])
def test_the_same_command_again_gets_the_original_outcome_whatever_has_happened_since(
    original: ReceivedCommand, snapshot: Snapshot[Any], at: int
) -> None:
    """No time of a record ends the memory, as a broker's clock may leap."""
    earlier = first_answer(original)
    again = command(
        original.payload, 77, offset=5, at=at, command_id="c-1", deadline=START,
        correlation_id="x", actor="bob",
    )  # fmt: skip

    verdict = judge(again, snapshot, earlier=earlier, limits=WINDOW)

    own = {"source": again.record.source, "correlation_id": "x", "actor": "bob"}
    assert verdict.response == earlier.model_copy(update={"duplicate": True, **own})
    assert (verdict.events, verdict.snapshot, verdict.stored) == ((), snapshot, None)
    assert not verdict.remembered


@pytest.mark.proves("C-05", "C-06", "C-09")
def test_an_id_that_was_used_for_another_command_is_refused_before_all_other_checks() -> None:
    earlier = first_answer(ACCEPTED)
    other = command(DeleteOrder(), 9, offset=5, at=900, command_id="c-1", deadline=START - 1)

    verdict = judge(other, PLACED, earlier=earlier, limits=WINDOW)

    response = verdict.response
    assert response.reason is Reason.COMMAND_ID_REUSED
    assert "'c-1'" in (response.message or "")
    assert "ModifyOrder at 2026-11-18T11:06:40.000Z" in (response.message or "")
    assert response.command_digest == other.digest
    assert (response.duplicate, response.command_type) == (False, "DeleteOrder")
    assert (response.actual_version, response.decided_at) == (1, START + 900)
    assert not verdict.remembered  # the id still stands for the first command
    assert (verdict.events, verdict.stored) == ((), None)

import gc

import pytest

from tests.client.conftest import accepted
from verdict.client.errors import (
    OutcomeUnknownError,
    UnreadableResponseError,
)
from verdict.client.pending import Pending, PendingError
from verdict.client.pending_commands import PendingCommands
from verdict.model.source import Source
from verdict.wire.response import Response

ABOUT = ("order", b"o-1")


def pending_in(waiting: PendingCommands) -> Pending:
    pending = Pending("order", "o-1", "c-1", PendingError(), waiting.held)
    waiting.add(pending)
    return pending


def place(offset: int) -> Source:
    return Source("order.commands", 0, offset)


def response_at(offset: int) -> Response:
    sent = {
        "command_id": "c-1",
        "aggregate_id": "o-1",
        "payload": {"type": "DeleteOrder"},
        "expected_version": 1,
        "correlation_id": None,
    }
    return accepted(sent, "order", place(offset))


def test_an_answer_to_somebody_elses_command_of_the_same_id_is_left_alone() -> None:
    waiting = PendingCommands()
    pending = pending_in(waiting)
    waiting.answer(ABOUT, response_at(3))
    waiting.place(pending, place(7))

    waiting.answer(ABOUT, response_at(5))

    with pytest.raises(OutcomeUnknownError, match=r"it is at order\.commands:0:7") as caught:
        pending.wait(0)
    assert caught.value.command_id == "c-1"
    assert waiting.expects(ABOUT)


def test_a_dropped_command_is_forgotten_and_its_answer_does_no_harm() -> None:
    waiting = PendingCommands()
    dropped = pending_in(waiting)
    waiting.place(dropped, place(7))
    del dropped
    gc.collect()

    waiting.sweep()
    waiting.answer(ABOUT, response_at(7))

    assert len(waiting) == 0
    assert not waiting.expects(ABOUT)


def test_what_cannot_be_read_costs_the_first_of_the_aggregate_only() -> None:
    waiting = PendingCommands()
    second, first, unplaced = (pending_in(waiting) for _ in range(3))
    other = Pending("order", "o-2", "c-2", PendingError(), waiting.held)
    waiting.add(other)
    waiting.place(other, place(1))
    waiting.place(second, place(8))
    waiting.place(first, place(7))

    waiting.pass_over(("order", b"o-3"), UnreadableResponseError("of others"))
    waiting.pass_over(ABOUT, UnreadableResponseError("garbage"))
    waiting.answer(ABOUT, response_at(8))
    waiting.place(unplaced, place(9))
    waiting.answer(ABOUT, response_at(9))

    with pytest.raises(UnreadableResponseError, match="garbage"):
        first.wait(0)
    assert second.wait(0).source == place(8)
    assert unplaced.wait(0).source == place(9)
    assert not other.done
    assert len(waiting) == 1


def test_what_cannot_be_read_may_overtake_the_acknowledgement() -> None:
    waiting = PendingCommands()
    first, second, later = (pending_in(waiting) for _ in range(3))

    waiting.pass_over(ABOUT, UnreadableResponseError("garbage"))
    waiting.answer(ABOUT, response_at(8))
    waiting.place(first, place(7))
    waiting.place(second, place(8))
    waiting.place(later, place(9))

    with pytest.raises(UnreadableResponseError, match="garbage"):
        first.wait(0)
    assert second.wait(0).source == place(8)
    assert not later.done

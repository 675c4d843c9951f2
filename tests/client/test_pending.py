"""Which command waits for which response, and when its callbacks are called."""

import gc
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tests.client.conftest import accepted
from verdict.client.errors import (
    NotDeliveredError,
    OutcomeUnknownError,
    UnreadableResponseError,
    UnreadableResponsesError,
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


def test_a_callback_is_called_with_what_is_done() -> None:
    waiting, called = PendingCommands(), list[tuple[Pending, bool]]()
    pending = pending_in(waiting)

    pending.add_done_callback(lambda one: called.append((one, one.done)))
    waiting.place(pending, place(7))
    assert called == []
    waiting.answer(ABOUT, response_at(7))

    assert called == [(pending, True)]
    pending.add_done_callback(lambda one: called.append((one, one.done)))  # is called at once
    assert called == [(pending, True)] * 2
    assert waiting.held == set()


def test_callbacks_of_a_command_that_is_dropped_are_called() -> None:
    waiting, called = PendingCommands(), list[str]()
    pending = pending_in(waiting)
    pending.add_done_callback(lambda one: called.append(f"first {one.source}"))
    pending.add_done_callback(lambda one: called.append(f"second {one.source}"))
    waiting.place(pending, place(7))
    del pending
    gc.collect()
    waiting.sweep()

    waiting.answer(ABOUT, response_at(7))

    assert called == ["first order.commands:0:7", "second order.commands:0:7"]
    gc.collect()
    waiting.sweep()
    assert len(waiting) == 0


def test_a_callback_that_fails_stops_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    waiting, called = PendingCommands(), list[Pending]()
    pending = pending_in(waiting)
    pending.add_done_callback(lambda _: exit(1))
    pending.add_done_callback(called.append)

    with caplog.at_level(logging.ERROR, "verdict.kafka"):
        waiting.lose(pending, NotDeliveredError("lost"))

    assert called == [pending]
    assert "a callback of command 'c-1' to order 'o-1' failed" in caplog.text


@pytest.mark.parametrize("early", [True, False])
def test_a_callback_may_send_the_next_command(early: bool) -> None:
    """Whether the answer comes before the acknowledgement or behind it."""
    waiting, following = PendingCommands(), list[Pending]()
    pending = pending_in(waiting)
    pending.add_done_callback(lambda _: following.append(pending_in(waiting)))

    if early:
        waiting.answer(ABOUT, response_at(7))
    waiting.place(pending, place(7))
    waiting.answer(ABOUT, response_at(7))

    [successor] = following
    waiting.place(successor, place(8))
    assert not successor.done


def test_each_raises_an_error_of_its_own_when_all_are_ended() -> None:
    waiting = PendingCommands()
    several = [pending_in(waiting) for _ in range(3)]
    for offset, pending in enumerate(several[:2]):
        waiting.place(pending, place(offset))

    waiting.fail(UnreadableResponsesError("gone"))
    waiting.place(several[2], place(2))

    errors = set()
    for pending in several:
        with pytest.raises(UnreadableResponsesError, match="gone") as caught:
            pending.wait(0)
        assert caught.value.command_id == "c-1"
        errors.add(id(caught.value))
    assert len(errors) == 3
    assert len(waiting) == 0


@pytest.mark.proves("C-12")
def test_callbacks_are_called_once_whichever_thread_comes_first() -> None:
    called: list[list[int]] = [[] for _ in range(300)]
    held: set[Pending] = set()
    several = [Pending("order", "o-1", "c-1", PendingError(), held) for _ in called]
    together = Barrier(4)

    def each(act: Callable[[int, Pending], object]) -> None:
        for number, one in enumerate(several):
            together.wait()
            act(number, one)

    def adding(who: int) -> Callable[[int, Pending], object]:
        return lambda number, one: one.add_done_callback(lambda _: called[number].append(who))

    def answering(_: int, one: Pending) -> None:
        one.answer(response_at(7))

    def failing(_: int, one: Pending) -> None:
        one.fail(NotDeliveredError("lost"))

    with ThreadPoolExecutor(4) as threads:
        assert [*threads.map(each, (answering, failing, adding(0), adding(1)))] == [None] * 4

    assert [sorted(who) for who in called] == [[0, 1]] * len(several)
    assert held == set()

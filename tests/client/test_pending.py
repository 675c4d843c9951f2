"""Who asked to be called is called once, whatever happens and in whichever thread."""

import gc
import logging
from functools import partial
from threading import Barrier, Thread

import pytest

from tests.client.test_waiting import ABOUT, pending_in, place, response_at
from verdict.client.errors import NotDeliveredError, UnreadableResponsesError
from verdict.client.pending import Pending, PendingError
from verdict.client.pending_commands import PendingCommands


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
    rounds = 300
    called: list[list[int]] = [[] for _ in range(rounds)]
    held: set[Pending] = set()
    several = [Pending("order", "o-1", "c-1", PendingError(), held) for _ in range(rounds)]
    together = Barrier(4)

    def answering() -> None:
        for one in several:
            together.wait()
            one.answer(response_at(7))

    def failing() -> None:
        for one in several:
            together.wait()
            one.fail(NotDeliveredError("lost"))

    def note(number: int, who: int, _: Pending) -> None:
        called[number].append(who)

    def adding(who: int) -> None:
        for number, one in enumerate(several):
            together.wait()
            one.add_done_callback(partial(note, number, who))

    threads = [
        Thread(target=answering),
        Thread(target=failing),
        *(Thread(target=adding, args=(who,)) for who in range(2)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [sorted(who) for who in called] == [[0, 1]] * rounds
    assert held == set()

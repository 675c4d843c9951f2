"""A start whose workers hang comes to an end, and says why."""

from concurrent.futures import Future

import pytest

from verdict.errors import TimedOut
from verdict.service import parts
from verdict.service.parts import await_rehearsal


class Ended(Exception):
    """Stands for what a look at the other parts finds."""


def ended() -> None:
    raise Ended


@pytest.fixture(autouse=True)
def looks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "LOOK_S", 0.001)


def test_a_first_batch_that_does_not_end_ends_the_start() -> None:
    with pytest.raises(TimedOut, match="has not come through in 0 s"):
        await_rehearsal(Future(), lambda: None, 0)


def test_others_are_looked_after_meanwhile() -> None:
    with pytest.raises(Ended):
        await_rehearsal(Future(), ended, 600)


def test_what_ended_it_is_raised() -> None:
    done: Future[None] = Future()
    done.set_exception(Ended())

    with pytest.raises(Ended):
        await_rehearsal(done, lambda: None, 600)

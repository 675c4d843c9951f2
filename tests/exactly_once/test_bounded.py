"""A call of Kafka's client that never returns is left behind, and said."""

import threading

import pytest
from verdict.exactly_once.bounded import Stuck, within


@pytest.mark.proves("F-02")
def test_a_call_that_never_returns_is_left() -> None:
    for_ever = threading.Event()

    with pytest.raises(Stuck, match="did not come back from 'commit of x' within 1 s"):
        within(1, "commit of x", for_ever.wait)

    for_ever.set()


def test_a_call_that_returns_in_time_is_as_if_made_here() -> None:
    assert within(60, "flush", lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        within(60, "flush", lambda: 1 // 0)

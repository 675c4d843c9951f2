"""A start whose workers hang comes to an end, and says why."""

from threading import Event

import pytest

from verdict.errors import TimedOutError
from verdict.service.rehearsal import Rehearsal
from verdict.service.supervisor import Supervisor


class WorkersEndedError(Exception):
    """Stands for what a first batch can end with."""


def run(rehearsal: Rehearsal) -> None:
    """Start it as the decider's role does, and wait for its end."""
    supervisor = Supervisor(
        name="rehearsal",
        component=rehearsal,
        essential=True,
        passing=(),
        is_ready=rehearsal.is_over,
    )
    supervisor.start()
    supervisor.await_ready(supervisor.check)


def test_a_first_batch_that_does_not_end_ends_the_start() -> None:
    release = Event()

    def hang() -> None:
        release.wait()

    with pytest.raises(TimedOutError, match="has not come through in 0 s"):
        run(Rehearsal(hang, limit_s=0))
    release.set()


def test_what_ended_the_first_batch_is_raised() -> None:
    def fail() -> None:
        raise WorkersEndedError

    with pytest.raises(WorkersEndedError):
        run(Rehearsal(fail))


def test_the_start_goes_on_when_the_batch_has_been_through() -> None:
    run(Rehearsal(lambda: None))

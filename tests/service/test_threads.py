"""Components in threads: what fails is raised to the supervisor, and a start does not hang."""

import time

import pytest

from verdict.errors import TimedOutError, UnreachableError
from verdict.service.supervisor import Supervisor
from verdict.service.threads import FirstBatch, StepThread

PATIENCE_S = 30


class Scripted:
    """A work whose steps go as the script says; afterwards it is idle."""

    def __init__(self, *steps: Exception | None) -> None:
        self.left = list(steps)
        self.resets = 0

    def step(self) -> float:
        if self.left and (error := self.left.pop(0)) is not None:
            raise error
        return 0.001

    def reset(self) -> None:
        self.resets += 1


class Unclosable(Scripted):
    """A work that cannot let everything go."""

    def reset(self) -> None:
        raise ZeroDivisionError("a bug in reset")


def ended(work: Scripted) -> Exception:
    """Return what ends a thread."""
    thread = StepThread("work", work)
    thread.start()
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            thread.check()
        except Exception as error:
            assert thread.undone
            thread.stop()
            return error
        time.sleep(0.001)
    raise AssertionError("it still runs")


def test_what_ends_a_thread_is_raised_by_check() -> None:
    bug = ZeroDivisionError("a bug")
    work = Scripted(None, bug)

    assert ended(work) is bug
    assert work.resets == 1
    assert ended(Unclosable(bug)) is bug, "the first error, if the reset fails too"


def test_a_reset_that_fails_is_raised() -> None:
    thread = StepThread("work", Unclosable())
    thread.start()
    thread.stop()

    with pytest.raises(ZeroDivisionError, match="a bug in reset"):
        thread.check()


def test_a_supervised_thread_takes_steps_again_and_each_cause_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    work = Scripted(
        None, *[UnreachableError("Kafka is away")] * 3, UnreachableError("no database"), None
    )
    supervisor = Supervisor(name="intake", component=StepThread("intake", work), retry_s=0)
    supervisor.start()
    deadline = time.monotonic() + PATIENCE_S
    while "runs again" not in caplog.text:
        supervisor.check()
        time.sleep(0.001)
        assert time.monotonic() < deadline
    supervisor.stop()

    assert work.resets == 5  # after each failure, and at the end
    assert caplog.messages == [
        "component intake stopped, trying again every 0 s: Kafka is away",
        "component intake stopped, trying again every 0 s: no database",
        "component intake runs again",
    ]


def start(first: FirstBatch) -> None:
    """Start it as the decider's role does, and wait for its end."""
    supervisor = Supervisor(
        name="first batch",
        component=first,
        essential=True,
        passing=(),
        is_ready=first.is_through,
    )
    supervisor.start()
    supervisor.await_ready(supervisor.check)


def test_the_start_goes_on_when_the_first_batch_has_been_through_or_says_why_not() -> None:
    looks = iter([False, False, True])

    start(FirstBatch(lambda: next(looks, True)))
    with pytest.raises(TimedOutError, match="has not come through in 0 s"):
        start(FirstBatch(lambda: False, limit_s=0))

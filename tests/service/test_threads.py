"""Components in threads: what fails is raised to the supervisor."""

import time

import pytest

from verdict.errors import UnreachableError
from verdict.service.supervisor import StepThread, Supervisor

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

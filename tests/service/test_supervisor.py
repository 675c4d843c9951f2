"""What a supervisor does about each way in which a component can end."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from verdict.errors import (
    RestartRequestedError,
    TimedOutError,
    UnreachableError,
    VerdictError,
    WorkerTimeoutError,
)
from verdict.service import supervisor as module
from verdict.service.supervisor import LATE_AT_MOST, Supervisor

AWAY, LATE = UnreachableError("away"), WorkerTimeoutError("no worker")
BUG, GONE = ZeroDivisionError("a bug"), VerdictError("the folder is gone")
LIVE = RestartRequestedError("v2 is live")
LAST_WORDS = (
    "component lake stopped, and the others run on; remove the cause, then restart the service: "
)


class Scripted:
    """A component of which each start and check ends as the script says."""

    def __init__(self, *endings: Exception | None) -> None:
        self._endings = list(endings)
        self.done = 0
        self.undone = False
        self.starts = self.stops = 0

    def start(self) -> None:
        self.starts += 1
        self.check()

    def check(self) -> None:
        if self._endings and (ending := self._endings.pop(0)) is not None:
            raise ending

    def stop(self) -> None:
        self.stops += 1


def supervised(component: Scripted, **more: Any) -> Supervisor:
    """Return a supervisor that waits for nothing, of a component that is started."""
    options: dict[str, Any] = {"name": "lake", "component": component, "retry_s": 0} | more
    supervisor = Supervisor(**options)
    supervisor.start()
    return supervisor


@pytest.mark.proves("F-14")
def test_each_cause_is_logged_once_until_the_component_runs_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    supervisor = supervised(Scripted(*[AWAY] * 3, UnreachableError("locked"), None, AWAY))

    for _ in range(5):
        supervisor.check()

    assert caplog.messages == [
        "component lake stopped, trying again every 0 s: away",
        "component lake stopped, trying again every 0 s: locked",
        "component lake runs again",
        "component lake stopped, trying again every 0 s: away",
    ]
    levels = [record.levelno for record in caplog.records]
    assert levels == [logging.ERROR, logging.ERROR, logging.WARNING, logging.ERROR]


@pytest.mark.proves("C-11", "F-11")
@pytest.mark.parametrize(
    ("endings", "failures", "starts", "stops", "last_words"),
    [
        ([AWAY, AWAY, None], ["away", "away", None], 3, 2, "component lake runs again"),
        # a bug never ends the decider
        ([BUG], ["a bug"] * 3, 1, 1, f"{LAST_WORDS}a bug"),
        ([GONE], ["the folder is gone"] * 3, 1, 1, f"{LAST_WORDS}the folder is gone"),
        ([LIVE, None], [None] * 3, 2, 1, "component lake is restarted: v2 is live"),
        ([LIVE, GONE], ["the folder is gone"] * 3, 2, 2, f"{LAST_WORDS}the folder is gone"),
    ],
    ids=["away", "bug", "person", "restart", "failed restart"],
)
def test_a_component_is_started_again_or_stays_stopped(
    caplog: pytest.LogCaptureFixture,
    endings: list[Exception | None],
    failures: list[str | None],
    starts: int,
    stops: int,
    last_words: str,
) -> None:
    component, ended = Scripted(None, *endings), list[Exception]()
    supervisor = supervised(component, on_end=ended.append)

    found = []
    for _ in failures:
        supervisor.check()
        found.append(supervisor.failure)

    assert found == failures
    assert (component.starts, component.stops) == (starts, stops)
    assert caplog.messages[-1] == last_words
    assert [record for record in caplog.records if record.exc_info] == (
        caplog.records if endings == [BUG] else []
    )
    assert ended == ([endings[-1]] if failures[-1] else [])


def test_it_is_reported_until_the_work_that_failed_is_done() -> None:
    """Kafka may answer, and yet take no transaction: to start the component would not help."""
    component = Scripted(None, AWAY)
    supervisor = supervised(component)
    component.undone = True

    for _ in range(5):
        supervisor.check()
    assert supervisor.failure == "away"
    component.undone = False
    supervisor.check()

    assert supervisor.failure is None


def test_a_bug_that_follows_from_a_death_is_not_reported(caplog: pytest.LogCaptureFixture) -> None:
    def died() -> None:
        raise VerdictError("the JVM of Spark ended with -9")

    supervisor = supervised(Scripted(None, ConnectionRefusedError("refused")), find_cause=died)

    with pytest.raises(VerdictError, match="the JVM of Spark ended with -9"):
        supervisor.check()

    assert not caplog.records
    assert supervisor.failure is None


def test_what_ends_an_essential_component_ends_the_process_but_no_failure_that_passes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ended = list[Exception]()
    supervisor = supervised(Scripted(None, AWAY, None, BUG), essential=True, on_end=ended.append)

    for _ in range(2):
        supervisor.check()
    assert supervisor.failure is None
    with pytest.raises(ZeroDivisionError):
        supervisor.check()

    assert ended == [BUG]
    assert "a bug" not in caplog.text  # the process says it when it ends


@pytest.mark.parametrize("option", ["essential", "must_start"])
def test_a_start_that_must_not_fail_is_raised(option: str) -> None:
    with pytest.raises(UnreachableError):
        supervised(Scripted(AWAY), **{option: True})


@pytest.mark.proves("F-01")
def test_nothing_is_polled_or_started_while_kafka_is_away() -> None:
    kafka = SimpleNamespace(is_there=True)
    component = Scripted(None, AWAY)
    supervisor = supervised(component, is_kafka_there=lambda: kafka.is_there)
    supervisor.check()

    for kafka.is_there in (False, False, True):
        assert component.starts == 1
        supervisor.check()

    assert component.starts == 2


@pytest.mark.proves("F-06")
def test_an_essential_component_that_is_late_again_and_again_ends_the_process() -> None:
    supervisor = supervised(Scripted(None, *[LATE] * (LATE_AT_MOST + 1)), essential=True)

    for _ in range(LATE_AT_MOST):
        supervisor.check()
    with pytest.raises(WorkerTimeoutError):
        supervisor.check()


@pytest.mark.proves("F-06")
def test_a_component_that_is_late_is_started_later_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A machine that has too much to do is not given more; nor does the service end at once."""
    clock = SimpleNamespace(now=0)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    component = Scripted(None, *[LATE, None] * (LATE_AT_MOST + 1))
    supervisor = supervised(component, retry_s=1)

    started_at = []
    for clock.now in range(250):
        starts = component.starts
        supervisor.check()
        started_at += [clock.now] * (component.starts - starts)

    assert started_at == [1, 1 + 1 + 4, 6 + 1 + 16, 23 + 1 + 64, 88 + 1 + 64]


def test_a_batch_that_is_done_makes_good_for_those_that_were_late() -> None:
    component = Scripted(None, *[LATE, None] * 3 * LATE_AT_MOST)
    supervisor = supervised(component, essential=True)

    for _ in range(6 * LATE_AT_MOST):
        supervisor.check()
        component.done += 1

    assert component.starts == 3 * LATE_AT_MOST + 1


def test_a_start_waits_until_the_component_is_ready_or_stopped_for_good_or_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "READY_S", 0)
    polls = iter([False, False, True])
    ready = supervised(Scripted(), is_ready=lambda: next(polls))
    ended = supervised(Scripted(None, GONE), is_ready=lambda: False)
    late = supervised(Scripted(), is_ready=lambda: False, ready_within_s=lambda: 0)

    for supervisor in (ready, ended):
        supervisor.await_ready(supervisor.check)
    with pytest.raises(TimedOutError, match="the lake is not ready after 0 s"):
        late.await_ready(late.check)

    assert next(polls, None) is None
    assert ended.failure == "the folder is gone"

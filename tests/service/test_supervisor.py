"""What a supervisor does about each way in which a component can end."""

import logging
from types import SimpleNamespace

import pytest

from verdict.errors import RestartRequestedError, UnreachableError, VerdictError, WorkerTimeoutError
from verdict.service import supervisor as module
from verdict.service.supervisor import LATE_AT_MOST, Supervisor


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


def supervised(component: Scripted, *, essential: bool = False) -> Supervisor:
    """Return a supervisor that waits for nothing, of a component that is started."""
    supervisor = Supervisor(name="lake", component=component, retry_s=0, essential=essential)
    supervisor.start()
    return supervisor


def check(supervisor: Supervisor, times: int) -> None:
    for _ in range(times):
        supervisor.check()


@pytest.mark.proves("F-14")
def test_each_cause_is_logged_once_until_the_component_runs_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    away = [UnreachableError("away")] * 3
    supervisor = supervised(
        Scripted(*away, UnreachableError("locked"), None, UnreachableError("away"))
    )

    check(supervisor, 5)

    assert caplog.messages == [
        "component lake stopped, trying again every 0 s: away",
        "component lake stopped, trying again every 0 s: locked",
        "component lake runs again",
        "component lake stopped, trying again every 0 s: away",
    ]
    levels = [record.levelno for record in caplog.records]
    assert levels == [logging.ERROR, logging.ERROR, logging.WARNING, logging.ERROR]


def test_it_is_stopped_before_it_is_started_again() -> None:
    component = Scripted(None, UnreachableError("no answer"), UnreachableError("still none"), None)
    supervisor = supervised(component)

    failures = []
    for _ in range(3):
        supervisor.check()
        failures.append(supervisor.failure)

    assert failures == ["no answer", "still none", None]
    assert (component.starts, component.stops) == (3, 2)


def test_it_is_reported_until_the_work_that_failed_is_done() -> None:
    """Kafka may answer, and yet take no transaction: to start the component would not help."""
    component = Scripted(None, UnreachableError("too few replicas are in sync"))
    supervisor = supervised(component)
    component.undone = True

    check(supervisor, 5)
    assert supervisor.failure == "too few replicas are in sync"
    component.undone = False
    supervisor.check()

    assert supervisor.failure is None


@pytest.mark.proves("C-11", "F-11")
def test_a_bug_stops_the_component_and_the_process_runs_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """G-02: it never ends the decider."""
    bug = ZeroDivisionError("a bug")
    component, ended = Scripted(None, bug), list[Exception]()
    supervisor = Supervisor(name="lake", component=component, on_end=ended.append)
    supervisor.start()

    check(supervisor, 3)

    assert supervisor.failure == "a bug"
    assert (component.starts, component.stops) == (1, 1)
    [record] = caplog.records
    assert record.getMessage() == (
        "component lake stopped, and the others run on; remove the cause, then restart the "
        "service: a bug"
    )
    assert record.exc_info is not None
    assert ended == [bug]


def test_a_bug_that_follows_from_a_death_is_not_reported(caplog: pytest.LogCaptureFixture) -> None:
    def died() -> None:
        raise VerdictError("the JVM of Spark ended with -9")

    component = Scripted(None, ConnectionRefusedError("Connection refused"))
    supervisor = Supervisor(name="lake", component=component, find_cause=died)
    supervisor.start()

    with pytest.raises(VerdictError, match="the JVM of Spark ended with -9"):
        supervisor.check()

    assert not caplog.records
    assert supervisor.failure is None


def test_an_error_for_a_person_is_logged_without_a_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    component = Scripted(VerdictError("the folder is gone: bring it back"))
    supervisor = supervised(component)

    assert supervisor.failure == "the folder is gone: bring it back"
    assert [record.exc_info for record in caplog.records] == [None]
    assert component.stops == 1


def test_it_is_restarted_at_once_when_a_person_decided_something(
    caplog: pytest.LogCaptureFixture,
) -> None:
    component = Scripted(None, RestartRequestedError("v2 is live"), None)
    supervisor = supervised(component)

    supervisor.check()

    assert supervisor.failure is None
    assert (component.starts, component.stops) == (2, 1)
    assert caplog.messages == ["component lake is restarted: v2 is live"]


def test_a_restart_that_fails_needs_a_person() -> None:
    component = Scripted(
        None, RestartRequestedError("v2 is live"), VerdictError("v2 is not configured")
    )
    supervisor = supervised(component)

    supervisor.check()

    assert supervisor.failure == "v2 is not configured"
    assert (component.starts, component.stops) == (2, 2)


def test_what_ends_an_essential_component_ends_the_process(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A failure that passes does not."""
    bug, ended = ZeroDivisionError("a bug"), list[Exception]()
    component = Scripted(None, UnreachableError("no answer"), None, bug)
    supervisor = Supervisor(
        name="lake", component=component, retry_s=0, essential=True, on_end=ended.append
    )
    supervisor.start()

    check(supervisor, 2)
    assert supervisor.failure is None
    with pytest.raises(ZeroDivisionError):
        supervisor.check()

    assert ended == [bug]
    assert "a bug" not in caplog.text  # whoever ends the process says it


@pytest.mark.parametrize(("essential", "must_start"), [(True, False), (False, True)])
def test_a_start_that_must_not_fail_is_raised(essential: bool, must_start: bool) -> None:
    supervisor = Supervisor(
        name="lake",
        component=Scripted(UnreachableError("no answer")),
        essential=essential,
        must_start=must_start,
    )

    with pytest.raises(UnreachableError):
        supervisor.start()


@pytest.mark.proves("F-01")
def test_nothing_is_polled_or_started_while_kafka_is_away() -> None:
    kafka = SimpleNamespace(is_there=True)
    component = Scripted(None, UnreachableError("no answer"))
    supervisor = Supervisor(
        name="lake", component=component, retry_s=0, is_kafka_there=lambda: kafka.is_there
    )
    supervisor.start()
    supervisor.check()

    kafka.is_there = False
    check(supervisor, 3)
    assert component.starts == 1
    kafka.is_there = True
    supervisor.check()

    assert component.starts == 2


@pytest.mark.proves("F-06")
def test_an_essential_component_that_is_late_again_and_again_ends_the_process() -> None:
    component = Scripted(None, *[WorkerTimeoutError("no worker")] * (LATE_AT_MOST + 1))
    supervisor = supervised(component, essential=True)

    check(supervisor, LATE_AT_MOST)
    with pytest.raises(WorkerTimeoutError):
        supervisor.check()


@pytest.mark.proves("F-06")
def test_a_component_that_is_late_is_started_later_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A machine that has too much to do is not given more; nor does the service end at once."""
    clock = SimpleNamespace(now=0)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    component = Scripted(None, *[WorkerTimeoutError("no worker"), None] * (LATE_AT_MOST + 1))
    supervisor = Supervisor(name="lake", component=component, retry_s=1)
    supervisor.start()

    started_at = []
    for clock.now in range(250):
        starts = component.starts
        supervisor.check()
        started_at += [clock.now] * (component.starts - starts)

    assert started_at == [1, 1 + 1 + 4, 6 + 1 + 16, 23 + 1 + 64, 88 + 1 + 64]


def test_a_batch_that_is_done_makes_good_for_those_that_were_late() -> None:
    component = Scripted(None, *[WorkerTimeoutError("no worker"), None] * 3 * LATE_AT_MOST)
    supervisor = supervised(component, essential=True)

    for _ in range(6 * LATE_AT_MOST):
        supervisor.check()
        component.done += 1

    assert component.starts == 3 * LATE_AT_MOST + 1


def test_a_start_waits_until_the_component_is_ready_or_stopped_for_good(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "READY_S", 0)
    polls = iter([False, False, True])
    ready = Supervisor(name="intake", component=Scripted(), is_ready=lambda: next(polls))
    ended = Supervisor(
        name="intake", component=Scripted(None, VerdictError("gone")), is_ready=lambda: False
    )

    for supervisor in (ready, ended):
        supervisor.start()
        supervisor.await_ready(supervisor.check)

    assert next(polls, None) is None
    assert ended.failure == "gone"


def test_it_is_stopped_at_the_end() -> None:
    component = Scripted()

    supervised(component).stop()

    assert component.stops == 1

"""Supervises components of a service: after a failure that passes, one is started again.

Any other failure stops the component and says so once, in the log and in `verdict status`. The
other components run on, unless the process makes no sense without this one.
"""

import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from verdict.errors import (
    RestartRequestedError,
    TimedOutError,
    UnreachableError,
    VerdictError,
    WorkerTimeoutError,
)
from verdict.streaming.exactly_once.errors import NotPublishedError

LOG = logging.getLogger("verdict.supervisor")
RETRY_S = 5.0
READY_S = 0.1
SLOWER = 4.0  # times as long before each further try: a late machine has too much to do already
LONGEST_S = 64.0
LATE_AT_MOST = 4  # times in a row, then an essential component ends its process


class Component(Protocol):
    """One part of a running service. Started again, it continues where it stopped."""

    @property
    def done(self) -> int:
        """How many pieces of work (batches, steps) it has finished since it was made."""
        ...

    @property
    def undone(self) -> bool:
        """Whether its last piece of work failed, and it has not finished one since."""
        ...

    def start(self) -> None:
        """Start it, for the first time or after `stop`."""
        ...

    def check(self) -> None:
        """Return while it runs; raise what ended it."""
        ...

    def stop(self) -> None:
        """Stop it after the piece of work that is under way."""
        ...


@dataclass(kw_only=True)
class Supervisor:
    """Polls one component, and starts it again after failures that pass."""

    name: str
    component: Component
    essential: bool = False
    must_start: bool = False
    passing: tuple[type[Exception], ...] = (UnreachableError, WorkerTimeoutError, NotPublishedError)
    retry_s: float = RETRY_S
    is_kafka_there: Callable[[], bool] = lambda: True
    find_cause: Callable[[], None] = lambda: None
    on_end: Callable[[Exception], None] = lambda _: None
    is_ready: Callable[[], bool] = lambda: True
    ready_within_s: Callable[[], float] = lambda: math.inf

    def __post_init__(self) -> None:
        self.failure: str | None = None
        self._has_ended = False
        self._retry_at: float | None = None
        self._late = 0  # times in a row
        self._done = 0  # pieces of work, when it was late last

    def start(self) -> None:
        """Start the component."""
        if self.essential or self.must_start:
            self.component.start()
        else:
            self._attempt(self.component.start)

    def await_ready(self, check: Callable[[], None]) -> None:
        """Return when others may rely on the component, or it is stopped for good."""
        limit_s = self.ready_within_s()
        deadline = time.monotonic() + limit_s
        while not self._has_ended and not self.is_ready():
            check()
            if time.monotonic() >= deadline:
                raise TimedOutError(
                    f"the {self.name} is not ready after {limit_s:g} s: see spark/spark.log; "
                    "Python workers are frozen, or the machine has too much to do; nothing is "
                    "lost, start again"
                )
            time.sleep(READY_S)

    def check(self) -> None:
        """Look after the component; returns soon."""
        if not self._has_ended and self.is_kafka_there():
            self._attempt(self._poll)

    def stop(self) -> None:
        """Stop the component; what it has not done yet comes after the next start."""
        self.component.stop()

    def _poll(self) -> None:
        if self._retry_at is None:
            self.component.check()
        elif time.monotonic() >= self._retry_at:
            self._retry_at = None
            self.component.start()
        if self._retry_at is None and self.failure is not None and not self.component.undone:
            self.failure = None
            LOG.warning("component %s runs again", self.name)

    def _attempt(self, act: Callable[[], None]) -> None:
        try:
            act()
        except RestartRequestedError as reason:
            LOG.warning("component %s is restarted: %s", self.name, reason)
            self.component.stop()
            self._attempt(self.component.start)
        except self.passing as error:
            delay_s = self._delay(error)
            if self.essential and self._late > LATE_AT_MOST:
                self._end(error)
            self._retry_later(error, delay_s)
        except Exception as error:
            self._end(error)

    def _delay(self, error: Exception) -> float:
        """Return how long to wait: longer each time that it is late and has done nothing since."""
        if self.component.done != self._done:
            self._done, self._late = self.component.done, 0
        if not isinstance(error, WorkerTimeoutError):
            return self.retry_s
        self._late += 1
        return min(self.retry_s * SLOWER ** (self._late - 1), LONGEST_S)

    def _retry_later(self, error: Exception, delay_s: float) -> None:
        reason = _text_of(error)
        if reason != self.failure:  # each cause once, not at every try
            LOG.error(
                "component %s stopped, trying again every %g s: %s", self.name, delay_s, reason
            )
        self.failure = reason
        self.component.stop()
        self._retry_at = time.monotonic() + delay_s

    def _end(self, error: Exception) -> None:
        if not isinstance(error, VerdictError):
            self.find_cause()
        self._has_ended, self.failure = True, _text_of(error)
        if self.essential:
            self.on_end(error)
            raise error
        LOG.error(
            "component %s stopped, and the others run on; remove the cause, then restart the "
            "service: %s",
            self.name, self.failure, exc_info=None if isinstance(error, VerdictError) else error,
        )  # fmt: skip
        self.component.stop()
        self.on_end(error)


def _text_of(error: Exception) -> str:
    return str(error) or type(error).__name__


class Work(Protocol):
    """What is done in steps."""

    def step(self) -> float:
        """Do one step; return after how many seconds the next one is due."""
        ...

    def reset(self) -> None:
        """Let everything go that the next step can open again."""
        ...


class StepThread:
    """Takes the steps of a work, and ends at the first one that fails."""

    def __init__(self, name: str, work: Work) -> None:
        self.done = 0
        self.undone = False
        self.name = name
        self._work = work
        self._error: Exception | None = None
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin with the next step."""
        self._error = None
        self._stopping.clear()
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Return while the thread runs; raise what ended it."""
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """End after the step that is under way."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        error = self._take_steps()
        try:
            self._work.reset()
        except Exception as failure:
            error = error or failure
        self._error = error  # last, because a supervisor that sees it waits for this thread

    def _take_steps(self) -> Exception | None:
        pause_s = 0.0
        while not self._stopping.wait(pause_s):
            try:
                pause_s = self._work.step()
            except Exception as error:
                self.undone = True
                return error
            self.done += 1
            self.undone = False
        return None

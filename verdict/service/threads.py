"""Components that need no query: steps in a thread of their own, and the wait for a batch."""

import threading
import time
from collections.abc import Callable
from typing import Protocol

from verdict.errors import TimedOutError

FIRST_BATCH_S = 300.0  # not `slow_batch_s`: JVM and workers are cold, and others start too


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


class FirstBatch:
    """Waits for the decider's first batch: it shows that the operator's workers connect."""

    undone = False

    def __init__(self, is_through: Callable[[], bool], limit_s: float = FIRST_BATCH_S) -> None:
        self.is_through = is_through
        self._limit_s = limit_s
        self._deadline = 0.0

    @property
    def done(self) -> int:
        """1 when the batch has been through."""
        return int(self.is_through())

    def start(self) -> None:
        """Begin to wait."""
        self._deadline = time.monotonic() + self._limit_s

    def check(self) -> None:
        """Raise an error if it takes too long."""
        if time.monotonic() >= self._deadline and not self.is_through():
            raise TimedOutError(
                f"the first batch has not come through in {self._limit_s:g} s: "
                "see spark/spark.log; Python workers are frozen, or the machine has too much to "
                "do; nothing is lost, start again"
            )

    def stop(self) -> None:
        """Stop waiting; there is nothing to end."""

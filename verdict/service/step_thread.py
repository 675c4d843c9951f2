"""A component that does its work in steps, in a thread of its own."""

import threading
from typing import Protocol


class Work(Protocol):
    """What is done in steps."""

    def step(self) -> float:
        """Do one step; return after how many seconds the next one is due."""
        ...

    def reset(self) -> None:
        """Let everything go that the next step can open again."""
        ...


class StepThread:
    """Takes the steps of a work, and ends at the first one that fails.

    Args:
        name: Of the thread.
        work: Used by this thread alone.
    """

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
        self._error = error  # last: whoever sees it waits for this thread

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

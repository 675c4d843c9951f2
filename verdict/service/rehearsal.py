"""The first batch of the decider, an empty one: it shows that the operator's workers connect."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread

from verdict.errors import TimedOutError

FIRST_BATCH_S = 300.0  # not `slow_batch_s`: JVM and workers are cold, and others start too


class Rehearsal:
    """A component that does one piece of work, beside the start of the other components.

    Args:
        rehearse: Returns when the batch has been through.
        limit_s: How long that may take.
    """

    undone = False

    def __init__(self, rehearse: Callable[[], None], limit_s: float = FIRST_BATCH_S) -> None:
        self.done = 0
        self._rehearse = rehearse
        self._limit_s = limit_s
        self._deadline = 0.0
        self._result: Future[None] = Future()

    def start(self) -> None:
        """Begin."""
        self._deadline = time.monotonic() + self._limit_s
        Thread(target=self._run, name="rehearsal", daemon=True).start()  # it may never end

    def is_over(self) -> bool:
        """Tell whether the batch has been through."""
        return self.done > 0

    def check(self) -> None:
        """Raise what ended it.

        Raises:
            TimedOutError: It is under way for longer than the limit.
            Exception: The batch failed.
        """
        if self._result.done():
            self._result.result()
        elif time.monotonic() >= self._deadline:
            raise TimedOutError(
                f"the first batch, an empty one, has not come through in {self._limit_s:g} s: "
                "see spark/spark.log; Python workers are frozen, or the machine has too much to "
                "do; nothing is lost, start again"
            )

    def stop(self) -> None:
        """Leave the thread to the end of the process."""

    def _run(self) -> None:
        try:
            self._rehearse()
        except BaseException as error:
            self._result.set_exception(error)
        else:
            self._result.set_result(None)
            self.done = 1

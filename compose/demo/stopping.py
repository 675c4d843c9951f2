"""However the demo ends, nothing of it stays: signals become exceptions, children are awaited."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

import psutil
from pyspark import SparkContext

SIGNALS = (signal.SIGINT, signal.SIGTERM)
CHILDREN_END_S = 15


class Interruption:
    """Ctrl-C or SIGTERM, as an exception in the main thread: KeyboardInterrupt, SystemExit.

    Used as a context manager it leaves with that exception whatever came of it on the way: one
    that is raised inside a callback from C (SQLite's authorizer, say) becomes another, or none.
    """

    def __init__(self) -> None:
        self._number: int | None = None

    def listen(self) -> None:
        """Take both signals; again after Spark has started, which takes Ctrl-C for itself."""
        for number in SIGNALS:
            signal.signal(number, self._take)

    def check(self) -> None:
        """Return unless it came.

        Raises:
            KeyboardInterrupt, SystemExit: It came.
        """
        if self._number == signal.SIGINT:
            raise KeyboardInterrupt
        if self._number is not None:
            sys.exit(128 + self._number)

    def _take(self, number: int, frame: FrameType | None) -> None:
        self._number = number
        _ignore_signals()  # a second one would interrupt the cleaning up
        os.write(sys.stderr.fileno(), b"\nverdict: stopping, so that nothing is left running\n")
        self.check()

    def __enter__(self) -> "Interruption":
        self.listen()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.check()


def _ignore_signals() -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def nothing_left_running() -> Iterator[None]:
    """End, at the end, the JVM of Spark and whatever else was started meanwhile."""
    known = set(psutil.Process().children(recursive=True))
    try:
        yield
    finally:
        _ignore_signals()
        _end_jvm()
        left = [p for p in psutil.Process().children(recursive=True) if p not in known]
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.terminate()
        _, stubborn = psutil.wait_procs(left, CHILDREN_END_S)
        for process in stubborn:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(stubborn, CHILDREN_END_S)


def _end_jvm() -> None:
    """End the JVM that PySpark would keep for a next session."""
    gateway = SparkContext._gateway
    if gateway is None:
        return
    SparkContext._gateway = SparkContext._jvm = None
    gateway.shutdown()
    gateway.proc.stdin.close()  # on which the JVM ends
    gateway.proc.wait(CHILDREN_END_S)

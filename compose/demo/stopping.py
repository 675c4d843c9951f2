"""However the demo ends, nothing of it stays: signals become exceptions, children are awaited."""

import contextlib
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import psutil
from pyspark import SparkContext

SIGNALS = (signal.SIGINT, signal.SIGTERM)
CHILDREN_END_S = 15


def listen() -> None:
    """Turn Ctrl-C and SIGTERM into exceptions; again after Spark, which takes Ctrl-C for itself."""
    for number in SIGNALS:
        signal.signal(number, _leave)


def _leave(number: int, frame: FrameType | None) -> None:
    _ignore_signals()  # a second one would interrupt the cleaning up
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(128 + number)


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

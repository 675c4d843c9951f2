"""Keeps Python's garbage collector from batches, whose objects die together, without cycles."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache


class _Pauses:
    """Counts the threads that pause the collector; it goes on when none does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number = 0
        self._was_enabled = False

    def begin(self) -> None:
        with self._lock:
            if not self._number:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._number += 1

    def end(self) -> None:
        with self._lock:
            self._number -= 1
            if not self._number and self._was_enabled:
                gc.enable()


_pauses = _Pauses()


@contextmanager
def collector_paused() -> Iterator[None]:
    """Spare a batch the collector's passes over its objects, which all live until its end."""
    _pauses.begin()
    try:
        yield
    finally:
        _pauses.end()


@cache
def spare_imports() -> None:
    """Hide this process's imports from the collector; once per process.

    PySpark's daemon (4.2.1) ends every task of a worker with a full `gc.collect()`. For a hundred
    thousand objects of modules that takes 40 ms, far more than deciding a single command.
    """
    gc.collect()
    gc.freeze()

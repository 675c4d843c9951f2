"""Python's garbage collector against batches: many small objects that die together, no cycles."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache


class _Pauses:
    """Who pauses the collector, which belongs to all threads; it goes on when nobody does."""

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
    """Spare a batch the collector's passes over its objects, which are all alive until its end.

    What they hold is freed by reference counting; the few cycles that exceptions make wait for
    the collector's next pass after the batch, and after those of other threads.
    """
    _pauses.begin()
    try:
        yield
    finally:
        _pauses.end()


@cache
def spare_imports() -> None:
    """Take what this process has imported out of the collector's sight; once per process.

    PySpark's daemon (4.2.1) ends every task of a worker with a full `gc.collect()`. Over a hundred
    thousand objects of modules, none of which ever dies, that takes 40 ms of processor time, and a
    task that decides a single command needs a fraction of it.
    """
    gc.collect()
    gc.freeze()

"""Keeps Python's garbage collector from batches, whose objects die together, without cycles."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

_lock = threading.Lock()
_pausing = 0  # threads


@contextmanager
def collector_paused() -> Iterator[None]:
    """Spare a batch the collector's passes over its objects, which all live until its end."""
    global _pausing
    with _lock:
        _pausing += 1
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _pausing -= 1
            if not _pausing:
                gc.enable()


@cache
def spare_imports() -> None:
    """Hide this process's imports from the collector; once per process.

    PySpark's daemon (4.2.1) ends every task of a worker with a full `gc.collect()`. For a hundred
    thousand objects of modules that takes 40 ms, far more than deciding a single command.
    """
    gc.collect()
    gc.freeze()

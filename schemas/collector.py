"""Python's garbage collector against batches: many small objects that die together, no cycles."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache


@contextmanager
def collector_paused() -> Iterator[None]:
    """Spare a batch the collector's passes over its objects, which are all alive until its end.

    What they hold is freed by reference counting; the few cycles that exceptions make wait for
    the collector's next pass after the batch.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@cache
def spare_imports() -> None:
    """Take what this process has imported out of the collector's sight; once per process.

    PySpark's daemon (4.2.1) ends every task of a worker with a full `gc.collect()`. Over a hundred
    thousand objects of modules, none of which ever dies, that takes 40 ms of processor time, and a
    task that decides a single command needs a fraction of it.
    """
    gc.collect()
    gc.freeze()

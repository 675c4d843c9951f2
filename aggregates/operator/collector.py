"""Python's garbage collector against batches: many small objects that die together, no cycles."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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

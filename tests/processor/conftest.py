"""Memory is measured where it must be bounded."""

import tracemalloc
from collections.abc import Callable, Iterator

import pytest


@pytest.fixture
def peak() -> Iterator[Callable[[], int]]:
    """Return the most bytes of Python's that were in use since the last call."""

    def measured() -> int:
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        return found

    tracemalloc.start()
    yield measured
    tracemalloc.stop()

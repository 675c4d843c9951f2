"""Which batches are under way in this process, and since when.

A batch that does not end raises nothing: workers that are frozen, a call that waits. So each is
noted while it runs, for those who look after the service.
"""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

_LOCK = threading.Lock()
_UNDER_WAY: dict[str, "BatchUnderWay"] = {}
_quiet_since = time.monotonic()


@dataclass(frozen=True, slots=True)
class BatchUnderWay:
    """A batch that has begun and not ended."""

    batch_id: int
    since: float = field(default_factory=time.time)  # seconds of the epoch
    _began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.monotonic() - self._began


@contextmanager
def batch_under_way(query: str, batch_id: int) -> Iterator[None]:
    """Note that `query` is at this batch until the block ends."""
    global _quiet_since
    with _LOCK:
        _UNDER_WAY[query] = BatchUnderWay(batch_id)
    try:
        yield
    finally:
        with _LOCK:
            _UNDER_WAY.pop(query, None)
            _quiet_since = time.monotonic()


def quiet_s() -> float:
    """Return for how many seconds no batch has been under way; 0 while one is."""
    with _LOCK:
        return 0.0 if _UNDER_WAY else time.monotonic() - _quiet_since


def longer_than(seconds: float) -> Mapping[str, BatchUnderWay]:
    """Return the batches that have been under way for longer than that, by query."""
    with _LOCK:
        return {name: one for name, one in _UNDER_WAY.items() if one.seconds > seconds}

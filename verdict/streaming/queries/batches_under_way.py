"""Which batches of this process are under way: one that never ends raises nothing."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

_LOCK = threading.Lock()
_UNDER_WAY: dict[str, "BatchUnderWay"] = {}


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
    """Note a batch while it runs."""
    begin_batch(query, batch_id)
    try:
        yield
    finally:
        end_batch(query)


def begin_batch(query: str, batch_id: int) -> None:
    """Note that a batch has begun."""
    with _LOCK:
        _UNDER_WAY[query] = BatchUnderWay(batch_id)


def end_batch(query: str) -> None:
    """Note that the batch of a query has ended, if there was one."""
    with _LOCK:
        _UNDER_WAY.pop(query, None)


def longer_than(seconds: float) -> Mapping[str, BatchUnderWay]:
    """Return the batches that have been under way for longer than that, by query."""
    with _LOCK:
        return {name: one for name, one in _UNDER_WAY.items() if one.seconds > seconds}


def where_to_look(query: str) -> str:
    """Return what to do about a batch that does not end."""
    if query.startswith("projections"):
        return "see what locks and slow disks its database waits for"
    return "see what its Python workers and Spark do, in spark/spark.log"

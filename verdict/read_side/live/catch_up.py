"""Brings projections that are far behind forward, one part of the log after the other."""

import threading
from collections.abc import Callable, Mapping, Sequence

from pyspark import InheritableThread
from pyspark.sql import SparkSession

from verdict.adapters.spark.gc import collector_paused
from verdict.adapters.spark.query_settings import POOL
from verdict.adapters.spark.session import jvm_exit_code
from verdict.errors import RestartRequestedError
from verdict.read_side.apply.applier import Applier
from verdict.read_side.live.source import KafkaBatches
from verdict.wire.partitions import OffsetRange, PartitionOffsets, Spans, TopicPartition

NAME = "catching-up"  # of the thread, and of its pool in Spark's scheduler
PATIENCE_S = 30.0  # until the thread has ended

"""The next offset in each partition that a projection follows; 0 where it has read nothing yet."""


class CaughtUpError(RestartRequestedError):
    """A projection is near the end of the log now; after a restart the live query advances it."""

    def __init__(self, applier: Applier) -> None:
        super().__init__(f"{applier.projection.name} v{applier.projection.version} has caught up")


class CatchUp:
    """A thread that brings appliers forward until one of them is near the end of the log.

    A part is one job of Spark, of bounded size, in a pool of its own, so tasks of other queries
    never wait for all of it. The thread ends with `CaughtUpError`: the next start decides again
    which projections are far behind.
    """

    def __init__(
        self,
        spark: SparkSession,
        batches: KafkaBatches,
        appliers: Sequence[Applier],
        log_ends: Callable[[], PartitionOffsets],
        ended: Callable[[Exception], None],
    ) -> None:
        self._spark = spark
        self._batches = batches
        self._appliers = appliers
        self._log_ends = log_ends
        self._ended = ended
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread, if there is anything to bring forward."""
        if self._appliers:
            self._thread = InheritableThread(self._run, name=NAME, daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread; what it has not committed by then is read again."""
        self._stopping.set()
        if self._thread is None:
            return
        if jvm_exit_code(self._spark) is None:
            self._spark.sparkContext.cancelJobGroup(NAME)
        self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        try:
            self._spark.sparkContext.setJobGroup(NAME, NAME)
            self._spark.sparkContext.setLocalProperty(POOL, NAME)
            while self.advance():
                pass
        except Exception as error:
            if not self._stopping.is_set():  # else `stop` has cancelled a job
                self._ended(error)

    def advance(self) -> bool:
        """Bring the nearest one forward, with those that need the same part of the log."""
        ends = self._log_ends()
        reached = {one: reached_by(one, ends) for one in self._appliers if not one.is_stopped}
        if not reached or self._stopping.is_set():
            return False
        nearest = min(reached, key=lambda one: lag(reached[one], ends))
        if lag(reached[nearest], ends) <= self._batches.most:
            raise CaughtUpError(nearest)
        group = [
            one for one in reached if agree(reached[one], reached[nearest], self._batches.most)
        ]
        part = next_part([reached[one] for one in group], ends, self._batches.part)
        for batch in self._batches.between(part):
            with collector_paused():
                for applier in group:
                    if not self._stopping.is_set():
                        applier.follow(batch)
        return True


def reached_by(applier: Applier, places: Mapping[TopicPartition, object]) -> PartitionOffsets:
    """Return the next offset of an applier in those of `places` that it follows."""
    return {
        place: applier.positions.get(place, 0) for place in places if place.topic in applier.topics
    }


def lag(reached: PartitionOffsets, ends: PartitionOffsets) -> int:
    """Return how many offsets lie between a projection and `ends`."""
    return sum(max(0, ends[place] - offset) for place, offset in reached.items())


def agree(one: PartitionOffsets, other: PartitionOffsets, most: int) -> bool:
    """Return whether two are at most so many offsets apart, as far as they follow the same."""
    return sum(abs(one[place] - other[place]) for place in one.keys() & other.keys()) <= most


def next_part(group: Sequence[PartitionOffsets], ends: PartitionOffsets, most: int) -> Spans:
    """Return what a group reads next, about `most` offsets; nothing if all of it is at `ends`."""
    starts: dict[TopicPartition, int] = {}
    for reached in group:
        for place, offset in reached.items():
            starts[place] = min(offset, starts.get(place, offset))
    left = {place: start for place, start in starts.items() if start < ends[place]}
    size = max(1, most // len(left)) if left else 0
    return {
        place: OffsetRange(start, min(ends[place], start + size)) for place, start in left.items()
    }

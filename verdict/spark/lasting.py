"""A streaming query that outlives what passes: Kafka away, a worker of this machine only late."""

import logging
import time
from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from verdict.errors import Late, Unreachable
from verdict.spark.under_way import under_way

LOG = logging.getLogger("verdict.lasting")
AGAIN_S = 1.0
LATE_AT_MOST = 3  # times in a row, then it is more than late

Take = Callable[[DataFrame, int], None]


class Lasting:
    """Begins a query again on its own checkpoint when what ended it has passed.

    Whether a batch was published that was under way then, the marker tells, as after any restart.

    Args:
        name: Of the query, for people.
        begin: Starts it on the checkpoint that it has.
        told: What ended it, as Spark or a batch raised it → what to tell people.
        reachable: Whether Kafka is there; while it is not, nothing is tried.
    """

    def __init__(
        self,
        name: str,
        begin: Callable[[], StreamingQuery],
        told: Callable[[BaseException], BaseException],
        reachable: Callable[[], bool],
    ) -> None:
        self.waits: str | None = None  # what ended it, until that has passed
        self._name = name
        self._begin = begin
        self._told = told
        self._reachable = reachable
        self._running: StreamingQuery | None = None
        self._failure: BaseException | None = None
        self._undone = False  # whether a batch failed, which is to be taken again
        self._late = 0
        self._again_at: float | None = None

    def kept(self, take: Take) -> Take:
        """Return `take` for `foreachBatch`, its failure and its time kept in mind."""

        def take_one(frame: DataFrame, batch_id: int) -> None:
            try:
                with under_way(self._name, batch_id):
                    take(frame, batch_id)
            except BaseException as error:
                self._failure = error  # Spark would keep its text only
                self._undone = True
                raise
            self._late, self._undone, self.waits = 0, False, None

        return take_one

    def start(self) -> None:
        """Begin."""
        self._failure = None
        self._running = self._begin()

    def check(self) -> None:
        """Return while it runs, or waits for what passes.

        Raises:
            VerdictError: It ended because of something that a person can act on.
            Exception: It ended because of a bug.
        """
        if self._again_at is not None:
            if self._reachable() and time.monotonic() >= self._again_at:
                self._again_at = None
                self.start()
                if not self._undone:  # else that it runs again says nothing
                    self.waits = None
                LOG.warning("the %s goes on", self._name)
        elif self._running is not None and not self._running.isActive:
            failure = self._failure or self._running.exception()
            self._ended(self._told(failure or RuntimeError(f"the {self._name} stopped")))

    def stop(self) -> None:
        """End it after the batch that is under way."""
        self._again_at = None
        if self._running is not None:
            self._running.stop()

    def _ended(self, told: BaseException) -> None:
        self._late += isinstance(told, Late)
        if not isinstance(told, Unreachable | Late) or self._late > LATE_AT_MOST:
            raise told
        LOG.error("the %s waits, and goes on as soon as it can: %s", self._name, told)
        self.waits = str(told)
        self._again_at = time.monotonic() + AGAIN_S

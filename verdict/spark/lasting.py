"""A streaming query that outlives what passes: Kafka away, a worker of this machine only late."""

import logging
import time
from collections.abc import Callable

from verdict.errors import Late, Unreachable
from verdict.spark.running import SparkQuery

LOG = logging.getLogger("verdict.lasting")
AGAIN_S = 1.0
SLOWER = 4  # times as long before each further try: what is late has too much to do already
LATE_AT_MOST = 4  # times in a row, then it is more than late


class Lasting:
    """Begins a query again on its own checkpoint when what ended it has passed.

    Whether a batch was published that was under way then, the marker tells, as after any restart.

    Args:
        name: Of the query, for people.
        query: Looked after.
        begin: Starts it on the checkpoint that it has.
        reachable: Whether Kafka is there; while it is not, nothing is tried.
    """

    def __init__(
        self,
        name: str,
        query: SparkQuery,
        begin: Callable[[], None],
        reachable: Callable[[], bool],
    ) -> None:
        self._name = name
        self._query = query
        self._begin = begin
        self._reachable = reachable
        self._why: str | None = None
        self._done = 0  # batches when it ended last
        self._late = 0
        self._again_at: float | None = None

    @property
    def waits(self) -> str | None:
        """What ended it, until that has passed: what failed was done, or nothing had."""
        return self._why if self._query.done == self._done else None

    def check(self) -> None:
        """Return while it runs, or waits for what passes.

        Raises:
            VerdictError: It ended because of something that a person can act on.
            Exception: It ended because of a bug.
        """
        try:
            self._check()
        except (Unreachable, Late) as error:
            self._ended(error)

    def _check(self) -> None:
        if self._again_at is None:
            self._query.check()
        elif self._reachable() and time.monotonic() >= self._again_at:
            self._again_at = None
            self._begin()
            if not self._query.undone:  # else that it runs again says nothing
                self._why = None
            LOG.warning("the %s goes on", self._name)

    def stop(self) -> None:
        """End it after the batch that is under way."""
        self._again_at = None
        self._query.stop()

    def _ended(self, error: Unreachable | Late) -> None:
        if self._query.done != self._done:
            self._done, self._late = self._query.done, 0
        self._late += isinstance(error, Late)
        if self._late > LATE_AT_MOST:
            raise error
        LOG.error("the %s waits, and goes on as soon as it can: %s", self._name, error)
        self._why = str(error)
        self._again_at = time.monotonic() + AGAIN_S * SLOWER ** max(self._late - 1, 0)

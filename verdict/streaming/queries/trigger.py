"""How long a query that found nothing new waits before it looks again: longer when idle.

Spark looks again after ten milliseconds, which costs broker and JVM a third of a core. It reads the
pause once for a query's whole life (`spark.sql.streaming.pollingDelay`), so it is set in the field
that `MicroBatchExecution` sleeps by:
https://github.com/apache/spark/blob/v4.0.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/StreamExecution.scala
"""

import logging
import time
from collections.abc import Callable
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

LOG = logging.getLogger("verdict.pauses")
EXECUTION = "org.apache.spark.sql.execution.streaming.runtime.StreamExecution"
FIELD = "pollingDelayMs"
IDLE_AFTER_S = 10.0
# After an idle time the first record waits half of it, on average: senders wait for a response,
# and no one for what follows from it.
ANSWERING_MS, FOLLOWING_MS = 500, 2_000


class Pauses:
    """Lengthens the pauses of a query that has had no batch for some time."""

    def __init__(
        self,
        spark: SparkSession,
        query: StreamingQuery,
        idle_ms: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._idle_ms = idle_ms
        self._clock = clock
        self._execution: Any = query._jsq.streamingQuery()
        self._field = _field(spark)
        self._busy_ms = self._now_ms = 0 if self._field is None else self.ms
        self._worked_at = clock()

    @property
    def ms(self) -> int:
        """How long a pause is now, in milliseconds."""
        return 0 if self._field is None else int(self._field.getLong(self._execution))

    def worked(self) -> None:
        """Look again soon: there was a batch."""
        self._worked_at = self._clock()
        self._be(self._busy_ms)

    def look(self) -> None:
        """Look again later, if there was no batch for some time."""
        if self._clock() - self._worked_at > IDLE_AFTER_S:
            self._be(max(self._busy_ms, self._idle_ms))

    def _be(self, ms: int) -> None:
        if self._field is not None and ms != self._now_ms:
            self._field.setLong(self._execution, ms)
            self._now_ms = ms


def _field(spark: SparkSession) -> Any:
    """Return the field; None of a Spark that has another one."""
    try:
        found: Any = spark._jvm.java.lang.Class.forName(EXECUTION).getDeclaredField(FIELD)  # type: ignore[union-attr]
    except Py4JJavaError:
        LOG.warning("this Spark has no %s: a service with nothing to do costs more", FIELD)
        return None
    found.setAccessible(True)
    return found

"""Says in the log of the service which transactions stay open: nobody reads what is behind them."""

import logging
import time
from collections.abc import Collection

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.reader import KafkaLog
from verdict.errors import VerdictError
from verdict.wire.partitions import TopicPartition

LOG = logging.getLogger("verdict.topics")
LOOK_S = 5.0


class TransactionWatch:
    """Looks every five seconds for transactions that are open for longer than ours may be.

    Args:
        kafka: Where the topics are.
        topics: Those to look at.
    """

    def __init__(self, kafka: KafkaConfig, topics: Collection[str]) -> None:
        self._log = KafkaLog(kafka.settings)
        self._topics = topics
        self._limit_s = kafka.transaction_timeout_s
        self._since: dict[tuple[TopicPartition, int], float] = {}
        self._said: set[tuple[TopicPartition, int]] = set()
        self._next = time.monotonic() + LOOK_S

    def check(self) -> None:
        """Look if it is time to."""
        if time.monotonic() >= self._next:
            self.look()
            self._next = time.monotonic() + LOOK_S

    def look(self) -> None:
        """Say of each open transaction once that it has been open for too long.

        A Kafka that does not answer, or lacks a topic, is for others to name.
        """
        try:
            hidden = self._log.hidden(self._log.written(self._log.places(self._topics)))
        except VerdictError:
            return
        now = time.monotonic()
        self._since = {one: self._since.get(one, now) for one in hidden.items()}
        self._said &= self._since.keys()
        for one, since in self._since.items():
            if now - since >= self._limit_s and one not in self._said:
                self._said.add(one)
                place, offset = one
                LOG.warning(
                    "a transaction on %s has been open for %.0f s at offset %s: nobody reads what "
                    "is behind it until its writer ends it; see `verdict status`",
                    place, now - since, offset,
                )  # fmt: skip

    def close(self) -> None:
        """Let Kafka's clients go."""
        with self._log:
            pass

"""Sends the letters that are due to Kafka, one transaction per batch.

Their rows are removed after Kafka's commit. A crash in between sends the batch again with the same
retry ids.
"""

import logging
from collections.abc import Callable, Sequence

from confluent_kafka import KafkaError
from sqlalchemy import Engine

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.errors import UnreachableError
from verdict.reactions.dead_letters.allowed_topics import AllowedTopics
from verdict.reactions.dead_letters.queue import (
    DueRetry,
    due_retries,
    first_due,
    park,
    remove,
    translating_db_errors,
)
from verdict.read_side.schema.database import snapshot
from verdict.streaming.exactly_once.call_errors import TransactionFailedError
from verdict.streaming.exactly_once.failpoints import Failpoint, OnStep, ignore_step
from verdict.streaming.exactly_once.transactions import Transactions

LOG = logging.getLogger("verdict.reactions.dead_letters")
LETTERS = 1000

# the record's own fault: sent again it fails again, and its batch with it
REFUSED = frozenset(
    {
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.RECORD_LIST_TOO_LARGE,
        KafkaError.INVALID_MSG,
        KafkaError.INVALID_RECORD,
        KafkaError.POLICY_VIOLATION,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_EXCEPTION,
    }
)


class RetryPublisher:
    """Sends letters when they are due; of several processes Kafka fences all but the newest."""

    def __init__(  # noqa: PLR0913
        self,
        engine: Engine,
        kafka: KafkaConfig,
        transactional_id: str,
        destinations: AllowedTopics,
        clock: Callable[[], int],
        poll_s: float = 0.5,
        on_step: OnStep = ignore_step,
    ) -> None:
        self._engine = engine
        self._kafka = kafka
        self._transactional_id = transactional_id
        self._destinations = destinations
        self._clock = clock
        self._poll_s = poll_s
        self._on_step = on_step
        self._transactions: Transactions | None = None
        self._one_by_one = 0  # so many letters, since one of them makes its batch fail

    @translating_db_errors()
    def step(self) -> float:
        """Send a batch of what is due."""
        now = self._clock()
        with snapshot(self._engine) as connection:
            due = due_retries(connection, now, 1 if self._one_by_one else LETTERS)
            next_due = None if due else first_due(connection)
        if not due:
            self._one_by_one = 0
            in_s = self._poll_s if next_due is None else max((next_due - now) / 1000, 0.001)
            return min(self._poll_s, in_s)
        self._on_step(Failpoint.LETTERS_CLAIMED)
        self._destinations.refresh()
        problems = {one.topic: self._destinations.problem_with(one.topic) for one in due}
        unfit = [
            (one, f"it cannot go to {one.topic!r}: {problem}")
            for one in due
            if (problem := problems[one.topic]) is not None
        ]
        sent, refused = self._send([one for one in due if problems[one.topic] is None])
        self._on_step(Failpoint.LETTERS_SENT)
        with self._engine.begin() as connection:
            remove(connection, sent)
            for retry, error in (*unfit, *refused):
                park(connection, retry, error)
        self._one_by_one = max(0, self._one_by_one - 1)
        return 0.0

    def reset(self) -> None:
        """Close the producer; after a failure, and at the end."""
        if self._transactions is not None:
            self._transactions.close()
            self._transactions = None

    def _send(
        self, retries: Sequence[DueRetry]
    ) -> tuple[Sequence[DueRetry], Sequence[tuple[DueRetry, str]]]:
        """Send all of `retries` or none; return what was sent, and what Kafka will never take."""
        if not retries:
            return (), ()
        try:
            self._transact(retries)
        except TransactionFailedError as broken:
            if broken.reason is None or broken.reason.code() not in REFUSED:
                raise UnreachableError(
                    f"{len(retries)} dead letters were perhaps not sent, they stay where they are: "
                    f"{broken}"
                ) from broken
            if len(retries) == 1:
                [alone] = retries
                said = f"Kafka does not take it on {alone.topic!r}: {broken}; fix that or edit it"
                return (), [(alone, said)]
            LOG.warning("%s dead letters are sent one by one, as one is refused: %s",
                        len(retries), broken)  # fmt: skip
            self._one_by_one = len(retries) + 1
            return (), ()
        return retries, ()

    def _transact(self, retries: Sequence[DueRetry]) -> None:
        transactions, self._transactions = self._transactions, None
        transactions = transactions or Transactions(self._kafka, self._transactional_id)
        try:
            transactions.begin()
            for retry in retries:
                transactions.produce(retry.topic, retry.key, retry.value, retry.headers)
            transactions.flush()
            transactions.commit()
        except BaseException:
            transactions.abandon()
            transactions.close()
            raise
        self._transactions = transactions

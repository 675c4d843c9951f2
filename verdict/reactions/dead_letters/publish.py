"""Sends the letters that are due to Kafka, one transaction per batch.

Their rows are removed after Kafka's commit. A crash in between sends the batch again with the same
retry ids.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from enum import StrEnum, auto

from confluent_kafka import KafkaError
from sqlalchemy import Connection, Engine

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.errors import UnreachableError
from verdict.reactions.dead_letters.allowed_topics import AllowedTopics
from verdict.reactions.dead_letters.queue import (
    DueRetry,
    claim,
    first_due,
    park,
    remove,
    translating_db_errors,
)
from verdict.read_side.schema.database import snapshot
from verdict.settings.database_address import is_sqlite
from verdict.streaming.exactly_once.call_errors import TransactionFailedError
from verdict.streaming.exactly_once.failpoints import ignore_step
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


class LetterStep(StrEnum):
    """A moment of a batch, for tests that kill the process there; it has just happened."""

    CLAIMED = auto()  # no other process sends them; nothing is sent yet
    SENT = auto()  # Kafka has committed, the table still has them
    REMOVED = auto()


OnStep = Callable[[LetterStep], None]


class RetryPublisher:
    """Sends letters when they are due.

    Several may run on one PostgreSQL, each with a transactional id of its own; on SQLite one.
    """

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
        with ExitStack() as parts:
            claiming = self._claiming(parts)
            claimed = claim(claiming, now, 1 if self._one_by_one else LETTERS)
            if not claimed:
                self._one_by_one = 0
                due = first_due(claiming)
                in_s = self._poll_s if due is None else max((due - now) / 1000, 0.001)
                return min(self._poll_s, in_s)
            self._on_step(LetterStep.CLAIMED)
            parked = self._unfit(claimed)
            fit = [retry for retry in claimed if retry.id not in parked]
            sent, refused = self._send(fit)
            self._on_step(LetterStep.SENT)
            connection = self._removing(parts, claiming)
            remove(connection, sent)
            for retry, error in (parked | refused).values():
                park(connection, retry, error)
        self._on_step(LetterStep.REMOVED)
        self._one_by_one = max(0, self._one_by_one - 1)
        return 0.0

    def reset(self) -> None:
        """Let the producer go; after a failure, and at the end."""
        if self._transactions is not None:
            self._transactions.close()
            self._transactions = None

    def _claiming(self, parts: ExitStack) -> Connection:
        """Return where to claim: on SQLite in no transaction, as that keeps others waiting."""
        if is_sqlite(self._engine.url):
            return parts.enter_context(snapshot(self._engine))
        return parts.enter_context(self._engine.begin())

    def _removing(self, parts: ExitStack, claiming: Connection) -> Connection:
        if is_sqlite(self._engine.url):
            claiming.rollback()
            return parts.enter_context(self._engine.begin())
        return claiming

    def _unfit(self, claimed: Sequence[DueRetry]) -> dict[str, tuple[DueRetry, str]]:
        self._destinations.ask_again()
        found = {}
        for retry in claimed:
            if problem := self._destinations.problem_with(retry.topic):
                found[retry.id] = retry, f"it cannot go to {retry.topic!r}: {problem}"
        return found

    def _send(
        self, retries: Sequence[DueRetry]
    ) -> tuple[Sequence[DueRetry], dict[str, tuple[DueRetry, str]]]:
        """Send all of `retries` or none; return what was sent, and what Kafka will never take."""
        if not retries:
            return (), {}
        try:
            self._transact(retries)
        except TransactionFailedError as broken:
            self._destinations.forget()
            if broken.reason is None or broken.reason.code() not in REFUSED:
                raise UnreachableError(
                    f"{len(retries)} dead letters were perhaps not sent, they stay where they are: "
                    f"{broken}"
                ) from broken
            if len(retries) == 1:
                [alone] = retries
                said = f"Kafka does not take it on {alone.topic!r}: {broken}; fix that or edit it"
                return (), {alone.id: (alone, said)}
            LOG.warning("%s dead letters are sent one by one, as one is refused: %s",
                        len(retries), broken)  # fmt: skip
            self._one_by_one = len(retries) + 1
            return (), {}
        return retries, {}

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

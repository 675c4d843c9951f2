"""Publishing: the outputs of a batch and its progress in one transaction, once, by the owner."""

import logging
from dataclasses import replace
from enum import StrEnum, auto

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.log_identity import Identities, require_same_topics
from verdict.errors import UnreachableError
from verdict.streaming.exactly_once import unknown_outcome
from verdict.streaming.exactly_once.batch import Digest, Outputs, SourceBatch
from verdict.streaming.exactly_once.call_errors import TransactionFailedError
from verdict.streaming.exactly_once.failpoints import Failpoint, OnStep
from verdict.streaming.exactly_once.log_identity import remembered
from verdict.streaming.exactly_once.query import Query
from verdict.streaming.exactly_once.resume import Action, check_batch, check_replay
from verdict.streaming.exactly_once.shards import check_states, states_after
from verdict.streaming.exactly_once.transactions import Transactions
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.records import encode

LOG = logging.getLogger("verdict.streaming.exactly_once")


class PublishResult(StrEnum):
    """What became of a batch."""

    PUBLISHED = auto()
    SKIPPED = auto()  # it was published before, with the same output


class Publisher:
    """The owner of a query; `fencing` makes one.

    After an error of `publish` this process may only hand over the same batch again.
    """

    def __init__(
        self,
        query: Query,
        kafka: KafkaConfig,
        transactions: Transactions,
        progress: ProgressRecord,
        on_step: OnStep,
    ) -> None:
        """Publish after `progress`, which names this owner and was written by `transactions`."""
        self._query = query
        self._kafka = kafka
        self._transactions: Transactions | None = transactions
        self._progress = progress
        self._on_step = on_step
        self._identities = Identities(kafka)

    @property
    def progress(self) -> ProgressRecord:
        """The progress as of the last batch: where the next one starts, and the shard count."""
        return self._progress

    def publish(self, batch: SourceBatch, outputs: Outputs) -> PublishResult:
        """Make the output of `batch` visible exactly once.

        It is visible, whole, when this returns. After NotPublishedError, UnreachableError or
        FencedError it
        is visible whole or not at all: the progress record tells the next call, or the next start.

        The outputs are read again when a transaction has to be repeated.

        Raises:
            CheckpointMismatchError: The batch, or the state of a shard, does not start where the
                progress record ends.
            ReplayDiffersError: It was published before, with another output.
            FencedError: Another process owns the query now.
            DifferentLogError: A topic was deleted meanwhile, whether created again or not.
            NotPublishedError: Kafka refused the transaction, twice.
            UnreachableError: Kafka does not answer, or did not confirm the transaction, twice.
        """
        self._on_step(Failpoint.OUTPUT_COMPUTED)
        if self._transactions is None:  # the last batch failed
            self._renew()
        if self._is_published(batch, outputs):
            self._on_step(Failpoint.SKIPPED)
            return PublishResult.SKIPPED
        failure = None
        try:
            self._transact(batch, outputs)
        except TransactionFailedError as error:
            failure = str(error)
        # Not while `error` is handled: a client of Kafka that raises then (confluent-kafka 2.16)
        # keeps it for ever, and with it the batch and the producers in the frames that it passed.
        if failure is not None:
            self._settle(batch, outputs, failure)
        self._on_step(Failpoint.COMMITTED)
        return PublishResult.PUBLISHED

    def close(self) -> None:
        """Let the producer go; the query stays ours until another process claims it."""
        if self._transactions is not None:
            self._transactions.close()
            self._transactions = None

    def _is_published(self, batch: SourceBatch, outputs: Outputs) -> bool:
        """Tell whether the progress covers `batch`; raise if it neither does nor ends before it."""
        action = check_batch(self._progress, batch)
        if action is Action.SKIP:
            check_replay(self._progress, self._query, batch, outputs)
        check_states(self._progress, batch, action)
        return action is Action.SKIP

    def _transact(self, batch: SourceBatch, outputs: Outputs, *, final: bool = False) -> None:
        assert self._transactions is not None  # made again before every use
        transactions, self._transactions = self._transactions, None
        try:
            self._progress = self._write(transactions, batch, outputs)
        except BaseException as error:
            if final or not isinstance(error, TransactionFailedError):
                transactions.abandon()  # else the next producer's initialisation resolves it
            transactions.close()
            raise
        self._transactions = transactions

    def _write(
        self, transactions: Transactions, batch: SourceBatch, outputs: Outputs
    ) -> ProgressRecord:
        digest = Digest()
        transactions.begin()
        transactions.produce_all(digest.over(outputs))
        transactions.flush()
        self._on_step(Failpoint.TRANSACTION_OPEN)
        self._check_topics()
        progress = replace(
            self._progress,
            query_id=batch.query_id,
            batch_id=batch.batch_id,
            digest=digest.value(),
            offsets=batch.end,
            handler_version=self._query.handler_version,
            shard_states=states_after(self._progress, batch),
        )
        transactions.produce(self._query.progress_topic, self._query.key, encode(progress))
        transactions.send_offsets(batch.end)
        transactions.flush()
        self._on_step(Failpoint.BEFORE_COMMIT)
        transactions.commit()
        return progress

    def _check_topics(self) -> None:
        """Check that the records went to the topics of the progress record, and not to new ones."""
        try:
            known = remembered(self._progress, self._query)
            require_same_topics(known, self._identities, self._kafka.transaction_timeout_s)
        except UnreachableError as error:
            raise TransactionFailedError(str(error)) from error

    def _settle(self, batch: SourceBatch, outputs: Outputs, failure: str) -> None:
        """Find out from the progress whether `batch` is published, and publish it if it is not."""
        LOG.warning("%s is in doubt, the progress record will tell: %s", batch, failure)
        self._on_step(Failpoint.IN_DOUBT)
        self._renew()
        if self._is_published(batch, outputs):
            return
        try:
            self._transact(batch, outputs, final=True)
        except TransactionFailedError as again:
            raise unknown_outcome.failed_twice(batch, self._query, failure, again) from again

    def _renew(self) -> None:
        self._transactions, self._progress = unknown_outcome.renewed(
            self._query, self._kafka, self._progress, self._on_step
        )
        self._identities = Identities(self._kafka)  # the old one may wait for a lost answer

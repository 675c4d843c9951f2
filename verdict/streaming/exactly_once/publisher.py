"""Publishing: the outputs of a batch and its progress in one transaction, once, by the owner.

After a failed transaction only the progress record says who owns the query and what is published.
"""

import logging
from dataclasses import replace

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.log_identity import Identities, require_same_topics
from verdict.errors import UnreachableError
from verdict.streaming.exactly_once.batch import Digest, Outputs, SourceBatch
from verdict.streaming.exactly_once.call_errors import TransactionFailedError
from verdict.streaming.exactly_once.errors import CheckpointMismatchError, NotPublishedError, fenced
from verdict.streaming.exactly_once.failpoints import Failpoint, OnStep
from verdict.streaming.exactly_once.log_identity import log_identity, remembered
from verdict.streaming.exactly_once.query import Query
from verdict.streaming.exactly_once.read_progress import read_progress
from verdict.streaming.exactly_once.resume_checks import check_batch, check_replay
from verdict.streaming.exactly_once.state_moves import check_states, states_after
from verdict.streaming.exactly_once.transactions import Transactions
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.records import encode

LOG = logging.getLogger("verdict.streaming.exactly_once")


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
        """The progress after the last batch."""
        return self._progress

    def publish(self, batch: SourceBatch, outputs: Outputs) -> bool:
        """Make all of the output of `batch` visible; return False if it was published before.

        The outputs are read again if a transaction has to be repeated. After NotPublishedError,
        UnreachableError or FencedError, all of the output is visible or nothing: the progress tells
        the next call, or the next start. Other errors say why nothing may be published.
        """
        self._on_step(Failpoint.OUTPUT_COMPUTED)
        if self._transactions is None:  # the last batch failed
            self._renew()
        if self._is_published(batch, outputs):
            self._on_step(Failpoint.SKIPPED)
            return False
        failure = None
        try:
            self._transact(batch, outputs)
        except TransactionFailedError as error:
            failure = str(error)
        # Not while `error` is handled: a client of Kafka that raises then (confluent-kafka 2.16)
        # never releases it, and with it the batch and the producers in the frames that it passed.
        if failure is not None:
            self._settle(batch, outputs, failure)
        self._on_step(Failpoint.COMMITTED)
        return True

    def close(self) -> None:
        """Close the producer; the query stays ours until another process claims it."""
        if self._transactions is not None:
            self._transactions.close()
            self._transactions = None

    def _is_published(self, batch: SourceBatch, outputs: Outputs) -> bool:
        """Return whether the progress covers `batch`; raise if it neither does nor ends before."""
        is_replay = check_batch(self._progress, batch)
        if is_replay:
            check_replay(self._progress, self._query, batch, outputs)
        check_states(self._progress, batch, is_replay=is_replay)
        return is_replay

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
        transactions.flush()
        self._on_step(Failpoint.TRANSACTION_OPEN)
        self._check_topics()
        transactions.send_offsets(batch.end)
        self._on_step(Failpoint.BEFORE_COMMIT)
        transactions.commit()
        return progress

    def _check_topics(self) -> None:
        """Check that the records went to the topics of the progress record, not to new ones."""
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
            do = "see that Kafka runs" if again.passing else "fix the cause and start again"
            raise (UnreachableError if again.passing else NotPublishedError)(
                f"{batch} could not be published by {self._query.transactional_id}, first "
                f"({failure}), then ({again}): {do}, the progress record is kept"
            ) from again

    def _renew(self) -> None:
        """Get a new producer and the newest progress record, if this process is still the owner.

        The progress is read first, because a blind initialisation would fence a newer owner. It is
        read again after that: what the discarded producer left open is committed or aborted then.
        """
        self._checked_owner(wait=False)
        self._on_step(Failpoint.STILL_OWNER)
        log_identity(self._progress, self._query, self._kafka)
        transactions = Transactions(self._kafka, self._query.transactional_id)
        try:
            self._progress = self._checked_owner(wait=True)
        except BaseException:
            transactions.close()
            raise
        self._transactions = transactions
        self._identities = Identities(self._kafka)  # the old one may wait for a lost answer

    def _checked_owner(self, *, wait: bool) -> ProgressRecord:
        query, found = self._query, read_progress(self._kafka, self._query, wait=wait).progress
        if found is None:
            raise CheckpointMismatchError(
                f"the progress record of {query.name} is gone from {query.progress_topic}: find "
                "out who deleted it, then run `verdict recover`"
            )
        if found.owner != self._progress.owner:
            raise fenced(query, found)
        return found

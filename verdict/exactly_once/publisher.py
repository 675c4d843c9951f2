"""Publishing a batch: outputs and marker in one transaction, once, as long as we are the owner."""

import logging
from dataclasses import replace
from enum import StrEnum, auto

from verdict.errors import Unreachable
from verdict.exactly_once.batch import Batch, Digest, Outputs, digest
from verdict.exactly_once.belonging import known, whose
from verdict.exactly_once.calling import Broken
from verdict.exactly_once.claim import taken_over
from verdict.exactly_once.errors import Misfit, NotPublished, ReplayDiffers
from verdict.exactly_once.fit import Action, judge
from verdict.exactly_once.markers import read_marker
from verdict.exactly_once.query import Query
from verdict.exactly_once.shards import refuse_foreign_states, states_after
from verdict.exactly_once.steps import OnStep, Step
from verdict.exactly_once.transactions import Transactions
from verdict.kafka.access import Kafka
from verdict.kafka.identity import Identities, Identity, refuse_another
from verdict.wire.marker import Marker
from verdict.wire.records import encode

LOG = logging.getLogger("verdict.exactly_once")


class Outcome(StrEnum):
    """What became of a batch that was handed over."""

    PUBLISHED = auto()
    SKIPPED = auto()  # it had been published before; its output is the same


class Publisher:
    """The owner of a query; `owner.take_over` returns one.

    Any error of `publish` is final for this process, except that a batch may be handed over again.
    """

    def __init__(
        self,
        query: Query,
        kafka: Kafka,
        transactions: Transactions,
        marker: Marker,
        on_step: OnStep,
    ) -> None:
        """Publish after `marker`, which names this owner and was written by `transactions`."""
        self._query = query
        self._kafka = kafka
        self._transactions: Transactions | None = transactions
        self._marker = marker
        self._on_step = on_step
        self._identities = Identities(kafka)

    @property
    def marker(self) -> Marker:
        """The marker as of the last batch: where the next one starts, and the shard count."""
        return self._marker

    def publish(self, batch: Batch, outputs: Outputs) -> Outcome:
        """Make the output of `batch` visible exactly once.

        It is visible, whole, when this returns. After NotPublished, Unreachable or TakenOver it is
        visible whole or not at all: another call, or the next start, finds out from the marker.

        Args:
            batch: As Spark's checkpoint planned it.
            outputs: All of its records; read again when a transaction has to be repeated.

        Raises:
            Misfit: The batch, or the state of a shard, does not start where the marker ends.
            ReplayDiffers: It was published before, with another output.
            TakenOver: Another process owns the query now.
            AnotherLog: A topic was deleted meanwhile, whether created anew or not.
            NotPublished: Kafka refused the transaction, twice.
            Unreachable: Kafka does not answer, or did not confirm the transaction, twice.
        """
        self._on_step(Step.OUTPUT_COMPUTED)
        if self._transactions is None:
            self._renew()
        if self._judged(batch, outputs) is Action.SKIP:
            self._on_step(Step.SKIPPED)
            return Outcome.SKIPPED
        doubt = None
        try:
            self._transact(batch, outputs)
        except Broken as broken:
            doubt = str(broken)
        # Not while `broken` is handled: a client of Kafka that raises then (confluent-kafka 2.16)
        # keeps it for ever, and with it the batch and the producers in the frames that it passed.
        if doubt is not None:
            LOG.warning("%s is in doubt, the marker will tell: %s", batch, doubt)
            self._on_step(Step.IN_DOUBT)
            self._resolve(batch, outputs, doubt)
        self._on_step(Step.COMMITTED)
        return Outcome.PUBLISHED

    def close(self) -> None:
        """Let the producer go; the query stays ours until somebody else takes it over."""
        if self._transactions is not None:
            self._transactions.close()
            self._transactions = None

    def _judged(self, batch: Batch, outputs: Outputs) -> Action:
        action = judge(self._marker, batch)
        if action is Action.SKIP:
            self._check_replay(batch, outputs)  # first: other rules make other states, too
        refuse_foreign_states(self._marker, batch, action)
        return action

    def _transact(self, batch: Batch, outputs: Outputs, *, final: bool = False) -> None:
        assert self._transactions is not None  # made again before every use
        transactions, self._transactions = self._transactions, None
        try:
            self._marker = self._write(transactions, batch, outputs)
        except BaseException as error:
            if final or not isinstance(error, Broken):
                transactions.abandon()  # else the next producer's initialisation resolves it
            transactions.close()
            raise
        self._transactions = transactions

    def _write(self, transactions: Transactions, batch: Batch, outputs: Outputs) -> Marker:
        fingerprint = Digest()
        transactions.begin()
        transactions.produce_all(fingerprint.over(outputs))
        transactions.flush()
        self._on_step(Step.TRANSACTION_OPEN)
        try:
            self._refuse_another_log()
        except Unreachable as error:
            raise Broken(str(error)) from error
        marker = replace(
            self._marker,
            query_id=batch.query_id,
            batch_id=batch.batch_id,
            digest=fingerprint.value(),
            offsets=batch.end,
            handler_version=self._query.handler_version,
            shard_states=states_after(self._marker, batch),
        )
        transactions.produce(self._query.markers, self._query.key, encode(marker))
        transactions.send_offsets(batch.end)
        transactions.flush()
        self._on_step(Step.BEFORE_COMMIT)
        transactions.commit()
        return marker

    def _refuse_another_log(self) -> None:
        """See that topics are still the marker's; else what was written went to new ones."""
        ids = known(self._marker, self._query).topic_ids
        found = self._identities.topic_ids(ids, self._kafka.transaction_timeout_s)
        refuse_another(whose(self._query), Identity(None, ids), Identity(None, found))

    def _resolve(self, batch: Batch, outputs: Outputs, doubt: str) -> None:
        """Find out from the marker whether `batch` is published, and publish it if it is not."""
        self._renew()
        if self._judged(batch, outputs) is Action.SKIP:
            return
        try:
            self._transact(batch, outputs, final=True)
        except Broken as again:
            told = (
                f"{batch} could not be published by {self._query.transactional_id}, first "
                f"({doubt}), then ({again}): "
            )
            if again.passing:
                raise Unreachable(f"{told}see that Kafka runs, the marker is kept") from again
            raise NotPublished(
                f"{told}mend the cause and start again, the marker is kept"
            ) from again

    def _renew(self) -> None:
        """Become able to write again, if we are still the owner.

        The marker is read first: initialising blindly would fence an owner that came after us.
        """
        self._check_owner(read_marker(self._kafka, self._query, wait=False).marker)
        self._on_step(Step.STILL_OWNER)
        self._identities = Identities(
            self._kafka
        )  # the old one may wait for an answer that is lost
        self._refuse_another_log()
        transactions = Transactions(self._kafka, self._query.transactional_id)
        try:
            self._marker = self._check_owner(
                read_marker(self._kafka, self._query, wait=True).marker
            )
        except BaseException:
            transactions.close()
            raise
        self._transactions = transactions

    def _check_owner(self, marker: Marker | None) -> Marker:
        if marker is None:
            raise Misfit(
                f"the marker of {self._query.name} is gone from {self._query.markers}: find out "
                "who deleted it, then run `verdict recover`"
            )
        if marker.owner != self._marker.owner:
            raise taken_over(self._query, marker)
        return marker

    def _check_replay(self, batch: Batch, outputs: Outputs) -> None:
        computed = digest(outputs)
        if computed != self._marker.digest:
            # who published it before markers told of states cannot go on from today's
            again = "start once with the version that published it, or "
            raise ReplayDiffers(
                f"{batch} is published with the digest {self._marker.digest.hex()[:16]} by "
                f"handler version {self._marker.handler_version}, but its replay by "
                f"{self._query.handler_version} gave {computed.hex()[:16]}: "
                f"{again if self._marker.shard_states else ''}run `verdict recover`"
            )

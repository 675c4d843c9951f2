"""Fencing: at any time one process owns a query.

A claim initialises the transactional id, which fences the earlier owner, and then commits a
progress record that names the new one. The earlier owner finds that name in it, and stops.
"""

import logging
import os
import socket
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import Offsets
from verdict.adapters.kafka.reader import KafkaLog
from verdict.errors import VerdictError
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.streaming.exactly_once.call_errors import TransactionFailedError
from verdict.streaming.exactly_once.checkpoint import CheckpointPosition
from verdict.streaming.exactly_once.errors import (
    CheckpointMismatchError,
    FencedError,
    NotPublishedError,
    fenced,
)
from verdict.streaming.exactly_once.failpoints import Failpoint, OnStep, ignore_step
from verdict.streaming.exactly_once.log_identity import log_identity
from verdict.streaming.exactly_once.publisher import Publisher
from verdict.streaming.exactly_once.query import DECIDER, Query
from verdict.streaming.exactly_once.read_progress import (
    first_offsets,
    holds_records,
    read_progress,
    read_progress_in,
)
from verdict.streaming.exactly_once.resume_checks import (
    FIRST_GENERATION,
    NO_BATCH,
    check_resume,
    described,
)
from verdict.streaming.exactly_once.state_moves import EMPTY
from verdict.streaming.exactly_once.transactions import Transactions
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.records import encode

LOG = logging.getLogger("verdict.streaming.exactly_once")
LOOK_S = 2.0
ANSWER_S = 1.0


def claim_query(
    query: Query, kafka: KafkaConfig, checkpoint: CheckpointPosition, on_step: OnStep = ignore_step
) -> Publisher:
    """Become the owner of `query`, if `checkpoint` continues where its progress record ends.

    A checkpoint or log that does not fit is refused before the earlier owner is fenced. If the
    claim fails with NotPublishedError, the earlier owner goes on.
    """
    progress = read_progress(kafka, query, wait=False).progress
    if progress is not None:
        log_identity(progress, query, kafka)
    try:
        _checked(query, kafka, checkpoint, wait=False)
    except CheckpointMismatchError:
        # a newer progress record may be hidden by a transaction that was open
        _checked(query, kafka, checkpoint, wait=True)
    on_step(Failpoint.PROGRESS_READ)

    def earlier() -> ProgressRecord:
        progress = _checked(query, kafka, checkpoint, wait=True)
        return progress or genesis(
            query, None, first_offsets(kafka, query.inputs), query.first_shards
        )

    return claim(query, kafka, earlier, on_step)


def claim(
    query: Query,
    kafka: KafkaConfig,
    earlier: Callable[[], ProgressRecord],
    on_step: OnStep = ignore_step,
) -> Publisher:
    """Fence the owner of `query`, and become the owner; raises as `claim_query`.

    `earlier` finds the progress to go on from, once no other process can write one; it may raise.
    """
    transactions = Transactions(kafka, query.transactional_id)
    try:
        on_step(Failpoint.INITIALISED)
        progress = replace(log_identity(earlier(), query, kafka), owner=new_owner())
        transactions = write_progress(transactions, query, kafka, progress, on_step)
        on_step(Failpoint.CLAIMED)
    except BaseException:
        transactions.close()
        raise
    return Publisher(query, kafka, transactions, progress, on_step)


def new_owner() -> str:
    """Return a unique name for an owner, which says where it runs."""
    return f"{uuid.uuid4()} (pid {os.getpid()} on {socket.gethostname()})"


def genesis(
    query: Query, previous: ProgressRecord | None, offsets: Offsets, shards: int
) -> ProgressRecord:
    """Return the first progress record of a new generation, without an owner: a claim adds that.

    Every shard begins empty; a recovery replaces that by what it has seeded. `previous` is the
    progress that it replaces, and `offsets` are where the first batch starts.
    """
    return ProgressRecord(
        query=query.name,
        owner="",
        generation=FIRST_GENERATION if previous is None else previous.generation + 1,
        query_id=None,
        batch_id=NO_BATCH,
        digest=b"",
        offsets=offsets,
        shards=shards,
        handler_version=query.handler_version,
        cluster_id=None if previous is None else previous.cluster_id,
        topic_ids={} if previous is None else previous.topic_ids,
        shard_states=[EMPTY] * shards if query.name == DECIDER else [],
    )


def write_progress(
    transactions: Transactions,
    query: Query,
    kafka: KafkaConfig,
    progress: ProgressRecord,
    on_step: OnStep = ignore_step,
    extra_records: Iterable[OutputRecord] = (),
) -> Transactions:
    """Commit `progress` without a batch, and return the producer to go on with.

    If Kafka's answer is lost, the progress record tells whether it was committed. The earlier owner
    stops when it finds a claim, so the process that wrote it must not stop too. NotPublishedError
    means that it was not committed, or that another process fenced this one meanwhile.
    """
    try:
        transactions.begin()
        for record in extra_records:
            transactions.produce(record.topic, record.key, record.value, record.headers)
        transactions.produce(query.progress_topic, query.key, encode(progress))
        transactions.flush()
        on_step(Failpoint.CLAIM_SENT)
        transactions.commit()
        return transactions
    except TransactionFailedError as error:
        failure = str(error)
    # not while `error` is handled, as in `Publisher`
    LOG.warning("the claim of %s is in doubt: %s", query.transactional_id, failure)
    transactions.abandon()
    on_step(Failpoint.IN_DOUBT)
    _check_written(query, kafka, progress, failure)
    renewed = Transactions(kafka, query.transactional_id)
    try:
        _check_written(query, kafka, progress, failure)
    except BaseException:
        renewed.close()
        raise
    transactions.close()
    return renewed


def _check_written(
    query: Query, kafka: KafkaConfig, progress: ProgressRecord, failure: str
) -> None:
    found = read_progress(kafka, query, wait=True).progress
    if found != progress:
        raise NotPublishedError(
            f"{query.transactional_id} could not be claimed ({failure}); its progress record says: "
            f"{described(found)}: if that process runs, it goes on and this one stops; if it does "
            "not, start again"
        )


class OwnerWatch:
    """Reads the progress record of a query every two seconds, without fencing anything.

    Kafka fences an owner that is replaced, but the owner finds that out only when it publishes.
    Without commands it would keep running, and look as if it decided. `claim` is the progress with
    which this process claimed the query.
    """

    def __init__(self, kafka: KafkaConfig, query: Query, claim: ProgressRecord) -> None:
        self._kafka = kafka
        self._query = query
        self._owner = claim.owner
        self._claim_seen = False
        self._log = KafkaLog(kafka.settings)
        self._next = time.monotonic() + LOOK_S

    def check(self) -> None:
        """Look if it is time to. The next batch reports what else is wrong with the progress."""
        if time.monotonic() < self._next:
            return
        try:
            self._look(ANSWER_S)
        except FencedError:
            raise
        except VerdictError:
            pass
        self._next = time.monotonic() + LOOK_S

    def look(self) -> None:
        """Return if the newest progress record is this owner's; else raise FencedError."""
        self._look(self._kafka.transaction_timeout_s)

    def _look(self, seconds: float) -> None:
        self._log.allow(seconds)
        progress, settled = read_progress_in(self._log, self._query)
        if progress is None:
            return  # the next batch says who deleted it
        ours = progress.owner == self._owner
        # an open transaction may still hide the claim, and then this progress is older than it
        self._claim_seen |= ours or settled
        if self._claim_seen and not ours:
            raise fenced(self._query, progress)

    def close(self) -> None:
        """Close Kafka's clients."""
        with self._log:
            pass


def _checked(
    query: Query, kafka: KafkaConfig, checkpoint: CheckpointPosition, *, wait: bool
) -> ProgressRecord | None:
    """Return the progress record, if the checkpoint continues where it ends."""
    progress, records_exist = read_progress(kafka, query, wait=wait).progress, True
    if progress is None or progress.batch_id == NO_BATCH:
        records_exist = holds_records(kafka, query.outputs)
        # read again: a progress record that is read after the records must cover them
        progress = read_progress(kafka, query, wait=wait).progress
    check_resume(progress, checkpoint, records_exist=records_exist, seeded=query.seeded)
    return progress

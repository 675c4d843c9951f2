"""Fencing: at any time one process owns a query.

A claim initialises the transactional id, which fences the earlier owner, and then commits a
progress record
that names the new one. The earlier owner finds that name in the progress record, and stops.
"""

import logging
import os
import socket
import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import Offsets
from verdict.streaming.exactly_once import unknown_outcome
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.streaming.exactly_once.call_errors import TransactionFailedError
from verdict.streaming.exactly_once.checkpoint import CheckpointPosition
from verdict.streaming.exactly_once.errors import CheckpointMismatchError
from verdict.streaming.exactly_once.failpoints import Failpoint, OnStep, ignore_step
from verdict.streaming.exactly_once.log_identity import log_identity
from verdict.streaming.exactly_once.publisher import Publisher
from verdict.streaming.exactly_once.query import DECIDER, Query
from verdict.streaming.exactly_once.read_progress import first_offsets, holds_records, read_progress
from verdict.streaming.exactly_once.resume import FIRST_GENERATION, NO_BATCH, check_resume
from verdict.streaming.exactly_once.shards import EMPTY
from verdict.streaming.exactly_once.transactions import Transactions
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.records import encode

LOG = logging.getLogger("verdict.streaming.exactly_once")


def claim_query(
    query: Query, kafka: KafkaConfig, checkpoint: CheckpointPosition, on_step: OnStep = ignore_step
) -> Publisher:
    """Become the owner of `query`, if `checkpoint` continues where its progress record ends.

    A checkpoint that does not fit is refused before the earlier owner is fenced. The first start
    of all writes the first progress record.

    Raises:
        CheckpointMismatchError: The checkpoint does not fit; both positions are named.
        DifferentLogError: The progress record is of another cluster, or of topics that are no more.
        NotPublishedError: The claim failed, as when another process starts at the same time; the
            earlier owner goes on.
        UnreachableError: Kafka does not answer, or a transaction on the progress topic stays open.
    """
    _check_before(query, kafka, checkpoint)
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

    `earlier` finds the progress record to go on from, once no other process can write one; it may
    raise.
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

    It says that every shard begins empty, so that the first batch finds a foreign state; a
    recovery says instead what it has seeded. `previous` is the progress record that it replaces,
    and `offsets` are where the first batch starts.
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
    beside: Iterable[OutputRecord] = (),
) -> Transactions:
    """Commit `progress` without a batch: a claim, or the genesis after a recovery.

    The records `beside` it are committed with it, or not at all.

    If Kafka's answer is lost, the progress record tells whether it was committed. That matters for
    a claim:
    the earlier owner stops when it finds one, so the process that wrote it must not stop too.

    Raises:
        NotPublishedError: It was not committed, or another process fenced this one meanwhile.
        UnreachableError: Kafka does not answer any more.
    """
    try:
        transactions.begin()
        for record in beside:
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
    renewed = unknown_outcome.renewed_if_written(query, kafka, progress, failure)
    transactions.close()
    return renewed


def _check_before(query: Query, kafka: KafkaConfig, checkpoint: CheckpointPosition) -> None:
    """Refuse what would be refused after the earlier owner is fenced, before it is."""
    progress = read_progress(kafka, query, wait=False).progress
    if progress is not None:
        log_identity(progress, query, kafka)
    try:
        _checked(query, kafka, checkpoint, wait=False)
    except CheckpointMismatchError:
        # a newer progress record may be hidden by a transaction that was open
        _checked(query, kafka, checkpoint, wait=True)


def _checked(
    query: Query, kafka: KafkaConfig, checkpoint: CheckpointPosition, *, wait: bool
) -> ProgressRecord | None:
    """Return the progress record, if the checkpoint continues where it ends."""
    progress, records_exist = read_progress(kafka, query, wait=wait).progress, True
    if progress is None or progress.batch_id == NO_BATCH:
        records_exist = holds_records(kafka, query.outputs)
        # read again: a progress record that is read after the records must cover them
        progress = read_progress(kafka, query, wait=wait).progress
    check_resume(
        progress, checkpoint, records_exist=records_exist, shards=query.shards, seeded=query.seeded
    )
    return progress

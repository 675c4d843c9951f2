"""Claims: one process owns a query, and one deployment owns the topics. All others are fenced.

A claim initialises the transactional id, which fences the earlier owner, and then commits a marker
that names the new one. Who is fenced finds that name in the marker, and stops.
"""

import logging
import os
import socket
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from verdict.errors import VerdictError
from verdict.exactly_once.batch import OutputRecord
from verdict.exactly_once.belonging import belonging
from verdict.exactly_once.call_errors import TransactionFailedError
from verdict.exactly_once.checkpoint import CheckpointPosition
from verdict.exactly_once.errors import CheckpointMismatchError, NotPublished, UnreadableMarker
from verdict.exactly_once.markers import first_offsets, holds_records, read_marker
from verdict.exactly_once.publisher import Publisher
from verdict.exactly_once.query import DECIDER, OWNER, Query
from verdict.exactly_once.resume import FIRST_GENERATION, NO_BATCH, check_resume, described
from verdict.exactly_once.shards import EMPTY
from verdict.exactly_once.steps import OnStep, Step, unobserved
from verdict.exactly_once.transactions import Transactions
from verdict.kafka.access import Kafka
from verdict.kafka.identity import Identities, Identity
from verdict.kafka.offsets import Offsets
from verdict.wire.marker import Marker
from verdict.wire.records import encode
from verdict.wire.topics import Topics

LOG = logging.getLogger("verdict.exactly_once")


class OwnedByAnother(VerdictError):
    """The topics are those of another deployment."""


def claim_query(
    query: Query, kafka: Kafka, checkpoint: CheckpointPosition, on_step: OnStep = unobserved
) -> Publisher:
    """Become the owner of `query`, if `checkpoint` continues where its marker ends.

    A checkpoint that does not fit is refused before the earlier owner is fenced. The first start
    of all writes the first marker.

    Args:
        query: Its names, inputs and rules.
        kafka: Where it runs.
        checkpoint: The position of Spark's checkpoint, which this process will continue.
        on_step: Called at each step, here and in every `publish`.

    Returns:
        The publisher. Its marker has the shard count and, for a fresh checkpoint, the offsets
        that Spark must start with.

    Raises:
        CheckpointMismatchError: The checkpoint does not fit; both positions are named.
        AnotherLog: The marker is of another cluster, or of topics that are no more.
        NotPublished: The claim failed, as when another process starts at the same time; the
            earlier owner goes on.
        Unreachable: Kafka does not answer, or a transaction on the markers topic stays open.
        VerdictError: A topic is missing, or Kafka refuses.
    """
    _check_before(query, kafka, checkpoint)
    on_step(Step.MARKER_READ)

    def earlier() -> Marker:
        marker = _checked(query, kafka, checkpoint, wait=True)
        return marker or genesis(
            query, None, first_offsets(kafka, query.inputs), query.first_shards
        )

    return claim(query, kafka, earlier, on_step)


def claim(
    query: Query, kafka: Kafka, earlier: Callable[[], Marker], on_step: OnStep = unobserved
) -> Publisher:
    """Fence the owner of `query`, and become the owner.

    Args:
        query: Its names, inputs and rules.
        kafka: Where it runs.
        earlier: Finds the marker to go on from, now that no other process can write one; may raise.
        on_step: Called at each step, here and in every `publish`.

    Raises:
        AnotherLog, NotPublished, Unreachable: As for `claim_query`.
    """
    transactions = Transactions(kafka, query.transactional_id)
    try:
        on_step(Step.INITIALISED)
        marker = replace(belonging(earlier(), query, kafka), owner=new_owner())
        transactions = write_marker(transactions, query, kafka, marker, on_step)
        on_step(Step.CLAIMED)
    except BaseException:
        transactions.close()
        raise
    return Publisher(query, kafka, transactions, marker, on_step)


def new_owner() -> str:
    """Return a unique name for an owner, which says where it runs."""
    return f"{uuid.uuid4()} (pid {os.getpid()} on {socket.gethostname()})"


def genesis(query: Query, previous: Marker | None, offsets: Offsets, shards: int) -> Marker:
    """Return the first marker of a new generation, without an owner: a claim adds that.

    It says that every shard begins empty, so that the first batch finds a foreign state; a
    recovery says instead what it has seeded.

    Args:
        query: Whose marker it is.
        previous: The marker that it replaces, None at the first start of all.
        offsets: Where the first batch starts: next offset by partition, by topic.
        shards: How many shards the checkpoint of this generation has.
    """
    return Marker(
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


def write_marker(
    transactions: Transactions,
    query: Query,
    kafka: Kafka,
    marker: Marker,
    on_step: OnStep = unobserved,
    beside: Iterable[OutputRecord] = (),
) -> Transactions:
    """Commit `marker` without a batch: a claim, or the genesis after a recovery.

    The records `beside` it are committed with it, or not at all.

    If Kafka's answer is lost, the marker tells whether it was committed. That matters for a claim:
    the earlier owner stops when it finds one, so the process that wrote it must not stop too.

    Returns:
        The producer to go on with; another one if the answer was lost.

    Raises:
        NotPublished: It was not committed, or another process fenced this one meanwhile.
        Unreachable: Kafka does not answer any more.
    """
    try:
        transactions.begin()
        for record in beside:
            transactions.produce(record.topic, record.key, record.value, record.headers)
        transactions.produce(query.markers, query.key, encode(marker))
        transactions.flush()
        on_step(Step.CLAIM_SENT)
        transactions.commit()
        return transactions
    except TransactionFailedError as error:
        doubt = str(error)
    # not while `error` is handled, as in `Publisher`
    LOG.warning("the claim of %s is in doubt: %s", query.transactional_id, doubt)
    transactions.abandon()
    on_step(Step.IN_DOUBT)
    renewed = _if_written(marker, query, kafka, doubt)
    transactions.close()
    return renewed


def claim_topics(topics: Topics, kafka: Kafka, beside: Sequence[OutputRecord] = ()) -> None:
    """Make the topics those of this deployment, unless they are another one's.

    The name of a deployment could not tell: two of different names would each find a marker of
    their own, and decide each command twice. So the topic `owners` has a marker whose owner is the
    deployment; it counts as long as topics with the ids in it exist.

    Args:
        topics: Of the deployment; they exist.
        kafka: Where they are.
        beside: An operator's decision that they are, because nothing readable says whose they are;
            written in the same transaction.

    Raises:
        OwnedByAnother: Another deployment has them; it is named, and not disturbed.
        UnreadableMarker: The last record of the owner is no marker, and no operator decided.
        NotPublished: Another process claims them at the same time.
        Unreachable: Kafka does not answer.
        VerdictError: An operator decided, and they are this deployment's already.
    """
    query = _query_of_topics(topics)
    found = Identities(kafka).identity(query.topics)
    if not beside and _are_ours(query, kafka, topics, found, wait=False):
        return
    # a process that was killed in a claim leaves a transaction open, and this ends it
    transactions = Transactions(kafka, query.transactional_id)
    try:
        if not _are_known_as_ours(query, kafka, topics, found, bool(beside)):
            marker = replace(
                genesis(query, None, {}, query.first_shards),
                owner=topics.deployment,
                cluster_id=found.cluster_id,
                topic_ids=dict(found.topic_ids),
            )
            transactions = write_marker(transactions, query, kafka, marker, beside=beside)
        elif beside:
            raise VerdictError(f"the topics are those of {topics.deployment!r} already")
    finally:
        transactions.close()


def check_topics_owner(topics: Topics, kafka: Kafka) -> None:
    """Return if the topics, as far as they exist, are not those of another deployment.

    Raises:
        OwnedByAnother: They are, by a claim that is committed; `claim_topics` waits for others.
        UnreadableMarker: As for `claim_topics`.
        Unreachable: Kafka does not answer.
    """
    query = _query_of_topics(topics)
    identities = Identities(kafka)
    if identities.identity([topics.owners]).topic_ids:
        _are_ours(query, kafka, topics, identities.identity(query.topics), wait=False)


def is_owner(marker: Marker | None, deployment: str, found: Identity) -> bool:
    """Tell whether `marker` says that these topics, all of them, are those of `deployment`.

    Raises:
        OwnedByAnother: Topics that exist are another one's.
    """
    if marker is None:
        return False
    if marker.owner == deployment:
        return (marker.cluster_id, marker.topic_ids) == (found.cluster_id, found.topic_ids)
    theirs = sorted(dict(marker.topic_ids.items() & found.topic_ids.items()))
    if theirs:
        more = f" and {len(theirs) - 1} more" if len(theirs) > 1 else ""
        raise OwnedByAnother(
            f"{theirs[0]}{more} belong to the deployment {marker.owner!r}, and this one is "
            f"{deployment!r}: both would decide every command. Nothing was published. Set "
            f"deployment to {marker.owner!r} to go on with that one, or give this one a "
            "topic_prefix of its own"
        )
    return False


def _check_before(query: Query, kafka: Kafka, checkpoint: CheckpointPosition) -> None:
    """Refuse what would be refused after the earlier owner is fenced, before it is."""
    marker = read_marker(kafka, query, wait=False).marker
    if marker is not None:
        belonging(marker, query, kafka)
    try:
        _checked(query, kafka, checkpoint, wait=False)
    except CheckpointMismatchError:
        # a newer marker may be hidden by a transaction that was open
        _checked(query, kafka, checkpoint, wait=True)


def _checked(
    query: Query, kafka: Kafka, checkpoint: CheckpointPosition, *, wait: bool
) -> Marker | None:
    """Return the marker, if the checkpoint continues where it ends."""
    marker, records_exist = read_marker(kafka, query, wait=wait).marker, True
    if marker is None or marker.batch_id == NO_BATCH:
        records_exist = holds_records(kafka, query.outputs)
        # read again: a marker that is read after the records must cover them
        marker = read_marker(kafka, query, wait=wait).marker
    check_resume(
        marker, checkpoint, records_exist=records_exist, shards=query.shards, seeded=query.seeded
    )
    return marker


def _if_written(marker: Marker, query: Query, kafka: Kafka, doubt: str) -> Transactions:
    """Return a new producer if `marker` is the query's, before and after its initialisation."""
    _check_written(marker, query, kafka, doubt)
    renewed = Transactions(kafka, query.transactional_id)
    try:
        _check_written(marker, query, kafka, doubt)
    except BaseException:
        renewed.close()
        raise
    return renewed


def _check_written(marker: Marker, query: Query, kafka: Kafka, doubt: str) -> None:
    found = read_marker(kafka, query, wait=True).marker
    if found != marker:
        raise NotPublished(
            f"{query.transactional_id} could not be claimed ({doubt}); its marker says: "
            f"{described(found)}: if that process runs, it goes on and this one stops; if it does "
            "not, start again"
        )


def _are_known_as_ours(
    query: Query, kafka: Kafka, topics: Topics, found: Identity, decided: bool
) -> bool:
    try:
        return _are_ours(query, kafka, topics, found, wait=True)  # no other process can write now
    except UnreadableMarker:
        if not decided:
            raise
        return False


def _are_ours(query: Query, kafka: Kafka, topics: Topics, found: Identity, *, wait: bool) -> bool:
    try:
        marker = read_marker(kafka, query, wait=wait).marker
    except UnreadableMarker as error:
        raise UnreadableMarker(
            f"the last record of {topics.owners} under the key {OWNER!r} is none of verdict's, so "
            "nothing says which deployment the topics belong to: see who wrote it, then let the "
            f"deployment whose topics these are say so: {query.remedy}"
        ) from error
    return is_owner(marker, topics.deployment, found)


def _query_of_topics(topics: Topics) -> Query:
    return Query(
        name=OWNER,
        transactional_id=topics.owners,
        markers=topics.owners,
        inputs=(),
        outputs=(),
        others=tuple(topics.of_the_log()),
        handler_version="",
        first_shards=1,
    )

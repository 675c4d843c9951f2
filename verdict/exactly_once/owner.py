"""Becoming the one owner of a query."""

from collections.abc import Callable
from dataclasses import replace

from verdict.exactly_once.belonging import belonging
from verdict.exactly_once.checkpoint import CheckpointPosition
from verdict.exactly_once.claim import new_owner, write_marker
from verdict.exactly_once.errors import Misfit
from verdict.exactly_once.fit import FIRST_GENERATION, NO_BATCH, Start, fit
from verdict.exactly_once.markers import Seen, first_offsets, holds_records, read_marker
from verdict.exactly_once.publisher import Publisher
from verdict.exactly_once.query import DECIDER, Query
from verdict.exactly_once.shards import EMPTY
from verdict.exactly_once.steps import OnStep, Step, unobserved
from verdict.exactly_once.transactions import Transactions
from verdict.kafka.access import Kafka
from verdict.kafka.offsets import Offsets
from verdict.wire.marker import Marker


def take_over(
    query: Query, kafka: Kafka, checkpoint: CheckpointPosition, on_step: OnStep = unobserved
) -> Publisher:
    """Become the owner of `query`, if `checkpoint` continues where its marker ends.

    A misfit is refused before anybody is disturbed. Then a former owner is fenced, and the
    marker, read again, gets this owner's name. The first start of all writes the first marker.

    Args:
        query: Its names, inputs and rules.
        kafka: Where it runs.
        checkpoint: How far the books of Spark go that this process will continue.
        on_step: Called at each step, here and in every `publish`.

    Returns:
        The publisher. Its marker has the shard count and, for a fresh checkpoint, the offsets
        that Spark must start with.

    Raises:
        Misfit: The checkpoint does not fit; both positions are named.
        AnotherLog: The marker is of another cluster, or of topics that are no more.
        NotPublished: The claim failed, as when somebody else starts at the same time; whoever
            was the owner goes on.
        Unreachable: Kafka does not answer, or a transaction on the markers topic stays open.
        VerdictError: A topic is missing, or Kafka refuses.
    """
    _refuse_misfit(query, kafka, checkpoint)
    on_step(Step.MARKER_READ)

    def former() -> Marker:
        seen, records_exist = _read(query, kafka, wait=True)
        _fit(query, seen.marker, checkpoint, records_exist)
        return seen.marker or genesis(
            query, None, first_offsets(kafka, query.inputs), query.first_shards
        )

    return own(query, kafka, former, on_step)


def own(
    query: Query, kafka: Kafka, former: Callable[[], Marker], on_step: OnStep = unobserved
) -> Publisher:
    """Fence whoever owned `query`, and claim it.

    Args:
        query: Its names, inputs and rules.
        kafka: Where it runs.
        former: Finds the marker to go on from, now that nobody can write another one; it may raise.
        on_step: Called at each step, here and in every `publish`.

    Raises:
        AnotherLog: That marker is of another cluster, or of topics that are no more.
        NotPublished: The claim failed, as when somebody else starts at the same time.
        Unreachable: Kafka does not answer.
    """
    transactions = Transactions(kafka, query.transactional_id)
    try:
        on_step(Step.INITIALISED)
        claim = replace(belonging(former(), query, kafka), owner=new_owner())
        transactions = write_marker(transactions, query, kafka, claim, on_step)
        on_step(Step.CLAIMED)
    except BaseException:
        transactions.close()
        raise
    return Publisher(query, kafka, transactions, claim, on_step)


def genesis(query: Query, previous: Marker | None, offsets: Offsets, shards: int) -> Marker:
    """Return the first marker of a new generation; nobody owns it before it is claimed.

    It says that every shard begins empty, so that a state of somewhere else is found by its first
    batch; a recovery says instead what it has seeded.

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


def _refuse_misfit(query: Query, kafka: Kafka, checkpoint: CheckpointPosition) -> None:
    seen, records_exist = _read(query, kafka, wait=False)
    if seen.marker is not None:
        belonging(seen.marker, query, kafka)
    try:
        _fit(query, seen.marker, checkpoint, records_exist)
    except Misfit:
        if seen.settled:
            raise
        # a newer marker may stand behind a transaction that was open
        seen, records_exist = _read(query, kafka, wait=True)
        _fit(query, seen.marker, checkpoint, records_exist)


def _read(query: Query, kafka: Kafka, *, wait: bool) -> tuple[Seen, bool]:
    """Return the marker and, where it matters, whether outputs exist."""
    seen = read_marker(kafka, query, wait=wait)
    if seen.marker is not None and seen.marker.batch_id != NO_BATCH:
        return seen, True
    records_exist = holds_records(kafka, query.outputs)
    # read again: a marker that is read after the records must cover them
    return read_marker(kafka, query, wait=wait), records_exist


def _fit(
    query: Query, marker: Marker | None, checkpoint: CheckpointPosition, records_exist: bool
) -> Start:
    return fit(
        marker,
        checkpoint,
        records_exist=records_exist,
        shards=query.shards,
        seeded=query.seeded,
    )

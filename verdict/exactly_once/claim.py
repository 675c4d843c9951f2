"""Who owns a query: the process that its marker names, and nobody else."""

import logging
import os
import socket
import uuid
from collections.abc import Iterable

from verdict.exactly_once.batch import OutputRecord
from verdict.exactly_once.calling import Broken
from verdict.exactly_once.errors import NotPublished, TakenOver
from verdict.exactly_once.fit import described
from verdict.exactly_once.markers import read_marker
from verdict.exactly_once.query import Query
from verdict.exactly_once.steps import OnStep, Step, unobserved
from verdict.exactly_once.transactions import Transactions
from verdict.kafka.access import Kafka
from verdict.wire.marker import Marker
from verdict.wire.records import encode

LOG = logging.getLogger("verdict.exactly_once")


def new_owner() -> str:
    """Return a name for an owner that nobody else has, and that says where it runs."""
    return f"{uuid.uuid4()} (pid {os.getpid()} on {socket.gethostname()})"


def write_marker(
    transactions: Transactions,
    query: Query,
    kafka: Kafka,
    marker: Marker,
    on_step: OnStep = unobserved,
    beside: Iterable[OutputRecord] = (),
) -> Transactions:
    """Commit `marker` without a batch: a claim, or a genesis after a recovery.

    What lies `beside` it is committed with it, or not at all.

    When Kafka's answer is lost the marker tells whether it was committed. That matters for a
    claim: the former owner stops when it finds one, so whoever wrote it must not stop too.

    Returns:
        The producer to go on with; when the answer was lost it is another one.

    Raises:
        NotPublished: It was not committed, or somebody else fenced us meanwhile.
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
    except Broken as broken:
        doubt = str(broken)
    # not while `broken` is handled, as in `Publisher.publish`
    LOG.warning("the claim of %s is in doubt: %s", query.transactional_id, doubt)
    transactions.abandon()
    on_step(Step.IN_DOUBT)
    renewed = _if_written(marker, query, kafka, doubt)
    transactions.close()
    return renewed


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


def taken_over(query: Query, marker: Marker) -> TakenOver:
    """Return the error for a query that `marker` says is somebody else's."""
    if not marker.owner:
        return TakenOver(
            f"{query.transactional_id} was taken over by `verdict recover`, which rebuilt its "
            f"state as generation {marker.generation}: this process stops, and published nothing "
            "since; start again on the data directory on which that ran"
        )
    return TakenOver(
        f"{query.transactional_id} was taken over by owner {marker.owner}, now at batch "
        f"{marker.batch_id} of generation {marker.generation}: this process stops, and published "
        "nothing since; to decide here again, stop that one and start on its data directory, or, "
        "when that is lost, run `verdict recover`"
    )


def gone_back(query: Query, marker: Marker, before: Marker) -> TakenOver:
    """Return the error for a marker that came after `before` and stands behind it."""
    return TakenOver(
        f"an old marker came to {query.markers}: {query.transactional_id} at batch "
        f"{marker.batch_id} of generation {marker.generation}, by owner {marker.owner}, after "
        f"batch {before.batch_id} of generation {before.generation}: nobody has taken over, as "
        "who decides never goes back; this process stops, and published nothing since: see who "
        "may write there, then run `verdict recover`"
    )

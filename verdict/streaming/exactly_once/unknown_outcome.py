"""After a failed transaction, only the marker tells who owns the query and what is published."""

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.errors import UnreachableError, VerdictError
from verdict.streaming.exactly_once.batch import SourceBatch
from verdict.streaming.exactly_once.call_errors import TransactionFailedError
from verdict.streaming.exactly_once.errors import CheckpointMismatchError, NotPublishedError, fenced
from verdict.streaming.exactly_once.failpoints import Failpoint, OnStep
from verdict.streaming.exactly_once.log_identity import log_identity
from verdict.streaming.exactly_once.query import Query
from verdict.streaming.exactly_once.read_marker import read_progress
from verdict.streaming.exactly_once.resume import described
from verdict.streaming.exactly_once.transactions import Transactions
from verdict.wire.marker import Marker


def renewed(
    query: Query, kafka: KafkaConfig, marker: Marker, on_step: OnStep
) -> tuple[Transactions, Marker]:
    """Return a new producer and the newest marker, if this process is still the owner.

    The marker is read first, because a blind initialisation would fence a newer owner. It is read
    again after that: what the discarded producer left open is committed or aborted by then.

    Raises:
        FencedError: Another process owns the query.
        DifferentLogError: A topic was deleted meanwhile, whether created again or not.
        CheckpointMismatchError: The marker is gone.
        UnreachableError: Kafka does not answer.
    """
    _checked_owner(query, marker, read_progress(kafka, query, wait=False).marker)
    on_step(Failpoint.STILL_OWNER)
    log_identity(marker, query, kafka)
    transactions = Transactions(kafka, query.transactional_id)
    try:
        newest = read_progress(kafka, query, wait=True).marker
        return transactions, _checked_owner(query, marker, newest)
    except BaseException:
        transactions.close()
        raise


def renewed_if_written(
    query: Query, kafka: KafkaConfig, marker: Marker, failure: str
) -> Transactions:
    """Return a new producer if the claim `marker` is committed, and still the newest marker.

    Raises:
        NotPublishedError: It is not; the earlier owner, or another one, goes on.
    """
    _check_written(query, kafka, marker, failure)
    renewed = Transactions(kafka, query.transactional_id)
    try:
        _check_written(query, kafka, marker, failure)
    except BaseException:
        renewed.close()
        raise
    return renewed


def failed_twice(
    batch: SourceBatch, query: Query, first: str, again: TransactionFailedError
) -> VerdictError:
    """Return the error for a batch that two transactions could not publish."""
    failed = (
        f"{batch} could not be published by {query.transactional_id}, first ({first}), then "
        f"({again}): "
    )
    if again.passing:
        return UnreachableError(f"{failed}see that Kafka runs, the marker is kept")
    return NotPublishedError(f"{failed}mend the cause and start again, the marker is kept")


def _checked_owner(query: Query, ours: Marker, found: Marker | None) -> Marker:
    if found is None:
        raise CheckpointMismatchError(
            f"the marker of {query.name} is gone from {query.markers}: find out who deleted it, "
            "then run `verdict recover`"
        )
    if found.owner != ours.owner:
        raise fenced(query, found)
    return found


def _check_written(query: Query, kafka: KafkaConfig, marker: Marker, failure: str) -> None:
    found = read_progress(kafka, query, wait=True).marker
    if found != marker:
        raise NotPublishedError(
            f"{query.transactional_id} could not be claimed ({failure}); its marker says: "
            f"{described(found)}: if that process runs, it goes on and this one stops; if it does "
            "not, start again"
        )

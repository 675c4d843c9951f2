"""After a failed transaction, only the progress tells who owns the query and what is published."""

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.errors import UnreachableError, VerdictError
from verdict.streaming.exactly_once.batch import SourceBatch
from verdict.streaming.exactly_once.call_errors import TransactionFailedError
from verdict.streaming.exactly_once.errors import CheckpointMismatchError, NotPublishedError, fenced
from verdict.streaming.exactly_once.failpoints import Failpoint, OnStep
from verdict.streaming.exactly_once.log_identity import log_identity
from verdict.streaming.exactly_once.query import Query
from verdict.streaming.exactly_once.read_progress import read_progress
from verdict.streaming.exactly_once.resume import described
from verdict.streaming.exactly_once.transactions import Transactions
from verdict.wire.progress_record import ProgressRecord


def renewed(
    query: Query, kafka: KafkaConfig, progress: ProgressRecord, on_step: OnStep
) -> tuple[Transactions, ProgressRecord]:
    """Return a new producer and the newest progress record, if this process is still the owner.

    The progress record is read first, because a blind initialisation would fence a newer owner. It
    is read again after that: what the discarded producer left open is committed or aborted by then.

    Raises:
        FencedError: Another process owns the query.
        DifferentLogError: A topic was deleted meanwhile, whether created again or not.
        CheckpointMismatchError: The progress record is gone.
        UnreachableError: Kafka does not answer.
    """
    _checked_owner(query, progress, read_progress(kafka, query, wait=False).progress)
    on_step(Failpoint.STILL_OWNER)
    log_identity(progress, query, kafka)
    transactions = Transactions(kafka, query.transactional_id)
    try:
        newest = read_progress(kafka, query, wait=True).progress
        return transactions, _checked_owner(query, progress, newest)
    except BaseException:
        transactions.close()
        raise


def renewed_if_written(
    query: Query, kafka: KafkaConfig, progress: ProgressRecord, failure: str
) -> Transactions:
    """Return a new producer if the claim `progress` is committed, and still the newest progress.

    Raises:
        NotPublishedError: It is not; the earlier owner, or another one, goes on.
    """
    _check_written(query, kafka, progress, failure)
    renewed = Transactions(kafka, query.transactional_id)
    try:
        _check_written(query, kafka, progress, failure)
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
        return UnreachableError(f"{failed}see that Kafka runs, the progress record is kept")
    return NotPublishedError(f"{failed}mend the cause and start again, the progress record is kept")


def _checked_owner(
    query: Query, ours: ProgressRecord, found: ProgressRecord | None
) -> ProgressRecord:
    if found is None:
        raise CheckpointMismatchError(
            f"the progress record of {query.name} is gone from {query.progress_topic}: find out "
            f"who deleted it, "
            "then run `verdict recover`"
        )
    if found.owner != ours.owner:
        raise fenced(query, found)
    return found


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

"""A progress belongs to one log: to a cluster, and to topics, by the ids that Kafka gave them."""

from collections.abc import Iterable
from dataclasses import replace

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.log_identity import Identity, Remembered, require_same_log
from verdict.streaming.exactly_once.query import Query
from verdict.wire.progress_record import ProgressRecord


def log_identity(progress: ProgressRecord, query: Query, kafka: KafkaConfig) -> ProgressRecord:
    """Return `progress` with the ids of Kafka and the query's topics, if it has no others.

    Topics that it did not know are added. What it says of other topics than the query's is kept.

    Raises:
        DifferentLogError: It is of another cluster, or a topic was deleted, whether created again
            or not.
        UnreachableError: Kafka does not answer.
    """
    found = require_same_log(kafka, [remembered(progress, query)], query.topics)
    return replace(
        progress, cluster_id=found.cluster_id, topic_ids={**progress.topic_ids, **found.topic_ids}
    )


def require_log_of(
    progress_records: Iterable[tuple[Query, ProgressRecord]], kafka: KafkaConfig
) -> None:
    """Return if the topics are those that each of the progress speaks of; before any is created.

    Raises:
        DifferentLogError: Some are not; all of them are named.
        UnreachableError: Kafka does not answer.
    """
    if known := [remembered(progress, query) for query, progress in progress_records]:
        require_same_log(kafka, known)


def remembered(progress: ProgressRecord, query: Query) -> Remembered:
    """Return what `progress` says of the log, as far as the query speaks of it today."""
    ids = {name: one for name, one in progress.topic_ids.items() if name in query.topics}
    return Remembered(
        whose=f"the progress record of {query.name}", ids=Identity(progress.cluster_id, ids)
    )

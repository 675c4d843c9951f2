"""A marker belongs to one log: to a cluster, and to topics, by the ids that Kafka gave them."""

from collections.abc import Iterable
from dataclasses import replace

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.log_identity import Identity, Remembered, require_same_log
from verdict.streaming.exactly_once.query import Query
from verdict.wire.marker import Marker


def log_identity(marker: Marker, query: Query, kafka: KafkaConfig) -> Marker:
    """Return `marker` with the ids of Kafka and the query's topics, if it has no others.

    Topics that it did not know are added. What it says of other topics than the query's is kept.

    Raises:
        DifferentLogError: It is of another cluster, or a topic was deleted, whether created again
            or not.
        UnreachableError: Kafka does not answer.
    """
    found = require_same_log(kafka, [remembered(marker, query)], query.topics)
    return replace(
        marker, cluster_id=found.cluster_id, topic_ids={**marker.topic_ids, **found.topic_ids}
    )


def require_log_of(markers: Iterable[tuple[Query, Marker]], kafka: KafkaConfig) -> None:
    """Return if the topics are those that each of the markers speaks of; before any is created.

    Raises:
        DifferentLogError: Some are not; all of them are named.
        UnreachableError: Kafka does not answer.
    """
    if known := [remembered(marker, query) for query, marker in markers]:
        require_same_log(kafka, known)


def remembered(marker: Marker, query: Query) -> Remembered:
    """Return what `marker` says of the log, as far as the query speaks of it today."""
    ids = {name: one for name, one in marker.topic_ids.items() if name in query.topics}
    return Remembered(whose=f"the marker of {query.name}", ids=Identity(marker.cluster_id, ids))

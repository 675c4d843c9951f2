"""What a read side records of the topics that it was filled from; imports no SQLAlchemy."""

from collections.abc import Collection, Mapping

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.log_identity import (
    DifferentLogError,
    Identity,
    Remembered,
    require_same_log,
)
from verdict.adapters.sql.readers.reader import open_reader
from verdict.settings.settings import Settings
from verdict.wire.partitions import TopicPartition

FOLLOWED = "SELECT topic, topic_id, cluster_id FROM source_topic"
REMEDY = (
    "Start with the Kafka and the database that belong together (bootstrap_servers, database_url); "
    "or name a database that is empty, which is filled from this Kafka's log"
)

Archived = Mapping[TopicPartition, tuple[int, str]]
"""By partition, the offset of the last archived event, and SHA-256 of it in hexadecimal."""


def require_same_read_side(settings: Settings, kafka: KafkaConfig) -> None:
    """Return if the database that readers see was filled from the topics of this Kafka."""
    with open_reader(settings) as reader:
        rows = [*reader.select(FOLLOWED).rows]  # they are gone with the reader
    noted = (
        frozenset(str(cluster_id) for _, _, cluster_id in rows),
        {str(topic): str(topic_id) for topic, topic_id, _ in rows},
    )
    require_same_log(kafka, [remembered("the read side", noted, settings.topics.of_the_log())])


def remembered(
    whose: str,
    noted: tuple[Collection[str], Mapping[str, str]],
    topics: Collection[str],
    reached: Mapping[TopicPartition, int] | None = None,
    archived: Archived | None = None,
) -> Remembered:
    """Return what a read side records of the topics that it may follow; others do not matter."""
    clusters, topic_ids = noted
    if topic_ids and topic_ids.keys().isdisjoint(topics):
        raise DifferentLogError(
            f"{whose} belongs to another log: it was filled from {min(topic_ids)} and "
            f"others, and is asked to follow {min(topics)} and others. {REMEDY}"
        )
    ids = {name: topic_id for name, topic_id in topic_ids.items() if name in topics}
    return Remembered(
        whose=whose,
        ids=Identity(next(iter(clusters), None), ids),
        reached={place: end for place, end in (reached or {}).items() if place.topic in topics},
        records={place: one for place, one in (archived or {}).items() if place.topic in topics},
        remedy=REMEDY,
    )

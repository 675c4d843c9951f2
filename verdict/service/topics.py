"""The topics of a deployment: created and checked at the start."""

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.read_side.tables.same_log import require_same_database
from verdict.service.queries import require_same_log
from verdict.settings.settings import Settings
from verdict.streaming.event_log.skip_log import accepted_partitions, read_skips
from verdict.streaming.exactly_once.query import decider_query
from verdict.streaming.exactly_once.read_progress import readable_progress
from verdict.streaming.exactly_once.topic_owner import check_topics_owner, claim_topics
from verdict.wire.progress_record import ProgressRecord


def create_topics(settings: Settings, kafka: KafkaConfig) -> list[str]:
    """Create the topics that are missing, and no progress record knows; return their names."""
    require_same_log(settings, kafka)
    check_topics_owner(settings.topics, kafka)
    require_same_database(settings, kafka)
    return TopicAdmin(kafka.settings, settings.topics).create_missing()


def ensure_topics(settings: Settings, kafka: KafkaConfig) -> ProgressRecord | None:
    """Create as `create_topics` does, own and check everything against settings and progress."""
    created = create_topics(settings, kafka)
    claim_topics(settings.topics, kafka, are_new=settings.topics.owners in created)
    progress = readable_progress(kafka, decider_query(settings.topics, settings.shards))
    accepted = accepted_partitions(read_skips(kafka.settings, settings.topics))
    offsets = None if progress is None else progress.offsets
    TopicAdmin(kafka.settings, settings.topics).ensure(offsets, accepted)
    return progress

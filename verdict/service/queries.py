"""The queries of a deployment that may have a progress record; needs neither Spark nor SQL."""

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.reactions.policies.reaction import reactions_of, reactions_query
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.log_identity import require_log_of
from verdict.streaming.exactly_once.query import Query, decider_query, lake_query
from verdict.streaming.exactly_once.read_progress import readable_progress


def queries_of(settings: Settings) -> tuple[Query, ...]:
    """Return them, the decider first."""
    lake = () if settings.application.lake is None else (lake_query(settings.topics),)
    return (
        decider_query(settings.topics, settings.shards),
        reactions_query(reactions_of(settings)),
        *lake,
    )


def require_same_log(settings: Settings, kafka: KafkaConfig) -> None:
    """Check that the topics are those that each progress record speaks of."""
    progress_records = [(query, readable_progress(kafka, query)) for query in queries_of(settings)]
    require_log_of(
        [(query, progress) for query, progress in progress_records if progress is not None], kafka
    )

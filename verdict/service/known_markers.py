"""The markers of all queries of a deployment, and that they are of the log that there is."""

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.reactions.policies.query import reactions_of, reactions_query
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.log_identity import require_log_of
from verdict.streaming.exactly_once.query import Query, decider_query, lake_query
from verdict.streaming.exactly_once.read_marker import readable_marker


def queries_of(settings: Settings) -> tuple[Query, ...]:
    """Return all that may have a marker, the decider first."""
    lake = () if settings.application.lake is None else (lake_query(settings.topics),)
    return (
        decider_query(settings.topics, settings.shards),
        reactions_query(reactions_of(settings)),
        *lake,
    )


def require_same_log(settings: Settings, kafka: KafkaConfig) -> None:
    """Return if the topics are those that each marker of the deployment speaks of.

    Raises:
        DifferentLogError: Some are gone, or others now; all that any marker knows are named.
        UnreachableError: Kafka does not answer.
    """
    markers = [(query, readable_marker(kafka, query)) for query in queries_of(settings)]
    require_log_of([(query, marker) for query, marker in markers if marker is not None], kafka)

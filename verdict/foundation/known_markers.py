"""The markers of all queries of a deployment, and that they are of the log that there is."""

from verdict.configuration.settings import Settings
from verdict.exactly_once.belonging import require_log_of
from verdict.exactly_once.markers import readable_marker
from verdict.exactly_once.query import Query, decider_query, lake_query
from verdict.kafka.access import KafkaConfig
from verdict.reactions.query import reactions_of, reactions_query


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

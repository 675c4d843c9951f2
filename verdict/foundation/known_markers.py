"""The markers of all queries of a deployment, and that they are of the log that there is."""

from verdict.configuration.settings import Settings
from verdict.exactly_once.belonging import refuse_other_topics
from verdict.exactly_once.decider_query import decider_query
from verdict.exactly_once.errors import UnreadableMarker
from verdict.exactly_once.lake_query import lake_query
from verdict.exactly_once.markers import marker_now
from verdict.exactly_once.query import Query
from verdict.kafka.access import Kafka
from verdict.reactions.query import reactions_of, reactions_query
from verdict.wire.marker import Marker


def queries_of(settings: Settings) -> tuple[Query, ...]:
    """Return all that may have a marker, the decider first."""
    lake = () if settings.application.lake is None else (lake_query(settings.topics),)
    return (
        decider_query(settings.topics, settings.shards),
        reactions_query(reactions_of(settings)),
        *lake,
    )


def refuse_another_log(settings: Settings, kafka: Kafka) -> None:
    """Return if the topics are those that each marker of the deployment speaks of.

    Raises:
        AnotherLog: Some are gone, or others now; all that any marker knows are named.
        Unreachable: Kafka does not answer.
    """
    markers = ((query, readable_marker(kafka, query)) for query in queries_of(settings))
    found = [(query, marker) for query, marker in markers if marker is not None]
    refuse_other_topics(found, kafka, settings.topics)


def readable_marker(kafka: Kafka, query: Query) -> Marker | None:
    """Return the query's marker, None where there is none that can be read.

    Whoever goes on from it reads it again; a recovery can do without.
    """
    try:
        return marker_now(kafka, query)
    except UnreadableMarker:
        return None

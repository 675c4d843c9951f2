"""The markers, for those who only look at them."""

from verdict.application import current
from verdict.configuration.settings import Settings
from verdict.exactly_once.decider_query import decider_query
from verdict.exactly_once.lake_query import lake_query
from verdict.exactly_once.markers import marker_now
from verdict.exactly_once.query import Query
from verdict.kafka.access import kafka_of
from verdict.reactions.query import reactions_of, reactions_query
from verdict.wire.marker import Marker


def decider_marker(settings: Settings) -> Marker | None:
    """Return the marker; None when nothing was ever decided here.

    Raises:
        Unreachable: Kafka does not answer.
        VerdictError: The markers topic holds something else.
    """
    return _marker(settings, decider_query(settings.topics, settings.shards))


def reactions_marker(settings: Settings) -> Marker | None:
    """Return the marker of the reactions; None and errors as `decider_marker`."""
    return _marker(settings, reactions_query(reactions_of(settings)))


def lake_marker(settings: Settings) -> Marker | None:
    """Return the marker of the lake; None and errors as `decider_marker`."""
    if current().lake is None:
        return None
    return _marker(settings, lake_query(settings.topics))


def _marker(settings: Settings, query: Query) -> Marker | None:
    return marker_now(kafka_of(settings), query)

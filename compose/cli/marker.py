"""The decider's marker, for those who only look at it."""

from compose.cli.options import kafka_of, kafka_options
from compose.decider_query import decider_query
from compose.exactly_once.markers import read_marker
from compose.kafka_log import KafkaLog
from compose.settings import Settings
from schemas.marker import Marker


def decider_marker(settings: Settings) -> Marker | None:
    """Return the marker; None when nothing was ever decided here.

    Raises:
        Unreachable: Kafka does not answer.
        VerdictError: The markers topic holds something else.
    """
    topics = settings.topics
    with KafkaLog(kafka_options(settings)) as log:
        if not log.exists(topics.markers):
            return None
    query = decider_query(topics, settings.shards)
    return read_marker(kafka_of(settings), query, wait=False).marker

"""Where Kafka's topics are not what they must be, as far as they are known to a deployment."""

from verdict.configuration.found import kafka_options
from verdict.configuration.settings import Settings
from verdict.event_log.decisions import accepted_partitions, read_decisions
from verdict.kafka.topic_check import TopicAdmin
from verdict.kafka.topic_differences import Difference
from verdict.standing.markers import decider_marker
from verdict.wire.marker import Marker


def topic_differences(settings: Settings) -> list[Difference]:
    """Return all that is missing or differs, but for what a person has accepted.

    Raises:
        Unreachable: Kafka does not answer.
        VerdictError: It does not let us see a topic's settings, or the marker is none.
    """
    return differences_to(settings, decider_marker(settings))


def differences_to(settings: Settings, marker: Marker | None) -> list[Difference]:
    """Return them as `topic_differences` does, for who knows the decider's marker already."""
    options, topics = kafka_options(settings), settings.topics
    accepted = accepted_partitions(read_decisions(options, topics))
    return TopicAdmin(options, topics).differences(marker.offsets if marker else None, accepted)

"""Where Kafka's topics are not what they must be, as far as they are known to a deployment."""

from verdict.configuration.found import kafka_options
from verdict.configuration.settings import Settings
from verdict.event_log.decisions import accepted_partitions, decided
from verdict.kafka.log import KafkaLog
from verdict.kafka.topic_check import TopicAdmin
from verdict.kafka.topic_differences import Difference
from verdict.standing.markers import decider_marker


def topic_differences(settings: Settings) -> list[Difference]:
    """Return all that is missing or differs, but for what a person has accepted.

    Raises:
        Unreachable: Kafka does not answer.
        VerdictError: It does not let us see a topic's settings, or the marker is none.
    """
    with KafkaLog(kafka_options(settings)) as log:
        return differences(settings, log)


def differences(settings: Settings, log: KafkaLog) -> list[Difference]:
    """Return as `topic_differences` does, by a reader that is open already."""
    options, topics = kafka_options(settings), settings.topics
    marker = decider_marker(settings, log)
    accepted = accepted_partitions(decided(log, topics))
    return TopicAdmin(options, topics).differences(marker.offsets if marker else None, accepted)

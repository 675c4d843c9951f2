"""Where the partitions of topics end now."""

from collections.abc import Collection, Mapping

from verdict.configuration.found import kafka_options
from verdict.configuration.settings import Settings
from verdict.kafka.log import KafkaLog
from verdict.wire.spans import Partition

Ends = Mapping[Partition, int]
"""The offset behind the last record of each."""


def ends_of(settings: Settings, topics: Collection[str]) -> Ends:
    """Return the ends of every partition of those topics that exist.

    Raises:
        Unreachable: Kafka does not answer.
        VerdictError: It does not let us see one of them.
    """
    with KafkaLog(kafka_options(settings)) as log:
        # one by one, as Kafka leaves out of a whole list what we may not see
        kept = log.bounds(log.places([topic for topic in sorted(topics) if log.exists(topic)]))
    return {place: span.end for place, span in kept.items()}

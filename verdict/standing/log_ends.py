"""Where the partitions of topics end now."""

from collections.abc import Collection, Mapping

from verdict.kafka.log import KafkaLog

Ends = Mapping[tuple[str, int], int]
"""Topic and partition → the offset behind the last record."""


def ends_of(log: KafkaLog, topics: Collection[str]) -> Ends:
    """Return the ends of every partition of those topics that exist."""
    return {
        (topic, partition): log.bounds(topic, partition)[1]
        for topic in sorted(topics)
        if log.exists(topic)
        for partition in range(log.partitions(topic))
    }
